extension PushService {
  /// Providers of SMS. Their account has a request and a command of its own.
  static let sms = PushService(
    name: .sms, fields: [],
    signIns: [
      SignIn(.smsAccount, [], .ownRequest, options: "--provider cm --product-token-file FILE --sender NAME")
    ],
    neededField: "provider", guide: "", examples: [], usualLifetime: nil, overriddenMembers: nil,
    settings: [.smsAllowedHosts])
}

extension ServiceSetting {
  public static let smsAllowedHosts = ServiceSetting(
    "sms-allowed-hosts", .hosts(\.sms),
    "only hosts that providers of SMS can be at, as in sms.example.com:8443; these can have private addresses",
    shownFallback: "hosts of the internet, ports 443 and 8443")
}

extension PushCredentialKind {
  /// The account at a provider of SMS, with its addresses and its sender.
  public static let smsAccount = Self("sms_account")
}
