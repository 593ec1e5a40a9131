/// A request to the address where status reports are posted.
public struct SMSStatusRequest: Sendable {
  /// As the provider has it, query included.
  public var url: String
  /// What follows the question mark; empty without one.
  public var query: String
  public var contentType: String?
  /// The header `X-Twilio-Signature`.
  public var signature: String?
  public var body: [UInt8]

  public init(url: String, query: String, contentType: String?, signature: String?, body: [UInt8]) {
    self.url = url
    self.query = query
    self.contentType = contentType
    self.signature = signature
    self.body = body
  }
}
