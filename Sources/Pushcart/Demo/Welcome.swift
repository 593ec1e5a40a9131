import Wire

/// What a private hub says once it is up.
struct Welcome: Sendable {
  let sample: SampleCustomer
  let hubURL: String
  let phoneURL: String
  let database: String
  /// Where all that lasts is kept.
  let folder: String
  /// Number that the second line's sendout will have, if no other comes before it.
  let nextSendout: SendoutID

  var text: String {
    let shop = "\(hubURL)/rest/\(sample.id)/apps/\(SampleCustomer.appID)/pushdevices"
    return """

      Pushcart is up. Ctrl-C ends it; the next start finds the same data in \(folder).

        Phone page        \(phoneURL)
        API, described    \(hubURL)/swagger/
        Sample customer   \(sample.id), with the app \(SampleCustomer.appID), the template "offer" and 50 contacts
        Access key        \(sample.accessKey)
        Database          psql "\(database)"

      Try it in another terminal. Register a phone, send to it, and see what came of it:

      curl -X PUT \(shop) \\
        -H 'X-Carma-Authentication-Token: \(sample.accessKey)' -H 'Content-Type: application/json' \\
        -d '{"originalId":"me@example.com","firstName":"Robin","deviceInfo":[{"devicetoken":"\(Self.token)"}]}'

      curl -X POST \(hubURL)/api/v1/sendouts \\
        -H 'Authorization: Bearer \(sample.accessKey)' -H 'Content-Type: application/json' \\
        -d '{"name":"First try","appId":"\(SampleCustomer.appID)","audience":{"all":true},"message":{"alert":"Hello {{firstName}}"},"template":"offer","start":true}'

      curl \(hubURL)/api/v1/sendouts/\(nextSendout) -H 'Authorization: Bearer \(sample.accessKey)'


      """
  }

  /// The device token in the first line: any would do.
  private static let token = String(repeating: "c0ffee42", count: 8)
}
