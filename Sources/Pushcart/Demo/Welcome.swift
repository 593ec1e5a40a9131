import Simulator
import Wire

/// What a private hub prints once it is up.
struct Welcome: Sendable {
  let sample: SampleCustomer
  let hubURL: String
  let phoneURL: String
  let database: String
  /// The folder of all data.
  let folder: String
  /// Number of the sendout that the second curl line creates, unless another comes first.
  let nextSendout: SendoutID
  /// The address that it listens on.
  let host: String

  var text: String {
    let shop = "\(hubURL)/rest/\(sample.id)/apps/\(SampleApp.appID)/pushdevices"
    return """

      Pushcart is up. Ctrl-C ends it; the next start finds the same data in \(folder).
      \(Self.build)\(warning)
        Console           \(console)
        Phone page        \(phoneURL)
        Sample website    \(phoneURL)/web, for a Firefox whose push service is this one
        API, described    \(hubURL)/swagger/
        Sample customer   \(sample.id), with the app \(SampleApp.appID), the template "offer" and 51 contacts
        Access key        \(sample.accessKey)
        Database          psql "\(database)"

      Try it in another terminal. Register a phone, send to it, and see the result:

      curl -X PUT \(shop) \\
        -H 'X-Carma-Authentication-Token: \(sample.accessKey)' -H 'Content-Type: application/json' \\
        -d '{"originalId":"me@example.com","firstName":"Robin","deviceInfo":[{"devicetoken":"\(Self.token)"}]}'

      curl -X POST \(hubURL)/api/v1/sendouts \\
        -H 'Authorization: Bearer \(sample.accessKey)' -H 'Content-Type: application/json' \\
        -d '{"name":"First try","appIds":[\(sample.appIDs.map { "\"\($0)\"" }.joined(separator: ","))],"audience":{"all":true},"message":{"alert":"Hello {{firstName}}"},"template":"offer","start":true}'

      curl \(hubURL)/api/v1/sendouts/\(nextSendout) -H 'Authorization: Bearer \(sample.accessKey)'

      Send to a telephone number. Its phone gets a push, and an SMS 30 seconds later, as no app confirms the push:

      curl \(hubURL)/v1.0/message -H 'Content-Type: application/json' \\
        -d '{"messages":{"authentication":{"producttoken":"\(sample.gatewayKey)"},"msg":[{"from":"Sample","to":[{"number":"\(SamplePeople.number)"}],"body":{"content":"Your table is ready"},"appmessagetype":"critical","appKey":"\(sample.appKey)"}]}}'


      """
  }

  /// A link that leads in, and after the first sign-in who signs in.
  private var console: String {
    if let link = sample.owner.link { return "\(hubURL)\(link) sets a password and signs in" }
    return """
      \(hubURL)/console as \(sample.owner.email); `pushcart user reset \(sample.owner.userId) --customer \(sample.id)` makes a \
      new link
      """
  }

  private static var build: String {
    #if DEBUG
      "This is a debug build, several times slower than the binary that `make build` makes.\n"
    #else
      ""
    #endif
  }

  /// The demo is made for one person's machine.
  private var warning: String {
    if host == "localhost" || host == "::1" || host.hasPrefix("127.") { return "" }
    return """
      Warning: it listens on \(host). Whoever can reach this machine can open the phone page and read every push, send \
      pushes through the simulated APNs, and try keys on the hub. There is no TLS on the hub. Use it in a network you trust. Another name for the phone page needs --phone-name.

      """
  }

  /// The device token in the first line. Any token works.
  private static let token = String(repeating: "c0ffee42", count: 8)
}
