import Wire
import FoundationEssentials
import SwiftASN1
import X509

/// The certificate that a client presented, as APNs reads it.
struct ClientCertificate: Sendable {
  static let userIDOID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]
  static let topicsOID: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 6]

  /// The extension that marks a certificate as one for the environment.
  static func mark(of environment: SimulatedAPNs.Environment) -> ASN1ObjectIdentifier {
    [1, 2, 840, 113_635, 100, 6, 3, environment == .sandbox ? 1 : 2]
  }

  /// The subject's bundle id and the listed topics.
  let topics: Set<String>
  let environments: Set<SimulatedAPNs.Environment>
  let notAfter: Date
  let isTrusted: Bool

  /// - Parameter isTrusted: whether the issuer is one that APNs trusts.
  /// - Throws: if it is no X.509 certificate.
  init(der: [UInt8], isTrusted: (Certificate) -> Bool) throws {
    let certificate = try Certificate(derEncoded: der)
    let bundleID = certificate.subject.lazy.flatMap { $0 }.first { $0.type == Self.userIDOID }
    var topics = Set([bundleID.map { String(describing: $0.value) }].compactMap { $0 })
    if let list = certificate.extensions[oid: Self.topicsOID],
      case .constructed(let nodes) = try DER.parse(list.value).content
    {
      topics.formUnion(nodes.compactMap { try? String(ASN1UTF8String(derEncoded: $0)) })
    }
    self.topics = topics
    environments = Set(
      SimulatedAPNs.Environment.allCases.filter { certificate.extensions[oid: Self.mark(of: $0)] != nil })
    notAfter = certificate.notValidAfter
    self.isTrusted = isTrusted(certificate)
  }

  /// The check of a request without a provider token: certificate, environment, topic.
  func refusal(of request: APNsRequest, now: Date) -> APNsRefusal? {
    func forbidden(_ reason: String) -> APNsRefusal { APNsRefusal(status: 403, reason: reason) }
    guard isTrusted, notAfter > now, !topics.isEmpty, !environments.isEmpty else { return forbidden("BadCertificate") }
    guard environments.contains(request.environment) else { return forbidden("BadCertificateEnvironment") }
    // These take a provider token only.
    if ["location", "liveactivity"].contains(request.pushType) { return forbidden("MissingProviderToken") }
    guard let topic = request.topic, topics.contains(topic) else {
      return APNsRefusal(status: 400, reason: "TopicDisallowed")
    }
    return nil
  }
}
