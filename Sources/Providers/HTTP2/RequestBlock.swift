import NIOHPACK

/// The header blocks of a pool's requests, compressed as Apple advises for APNs.
///
/// Headers that stay the same are indexed, and sent as one byte. Headers that change with each push are prepared as not indexable.
/// A connection's first request indexes them nevertheless, for their names. `authorization` is never indexed.
struct RequestBlock {
  private let beginning: HPACKHeaders

  init(authority: String) {
    beginning = [":method": "POST", ":scheme": "https", ":authority": authority]
  }

  /// - Parameter isFirst: whether it is the connection's first request.
  func headers(of request: PushRequest, _ authorization: Authorization, isFirst: Bool) -> HPACKHeaders {
    var block = beginning
    block.reserveCapacity(beginning.count + request.headers.count + 1)
    for (name, value, indexing) in request.headers {
      // The name of a pseudo-header is in the static table.
      let isIndexed = isFirst && indexing == .nonIndexable && !name.hasPrefix(":")
      block.add(name: name, value: value, indexing: isIndexed ? .indexable : indexing)
    }
    if let value = authorization.value { block.add(name: "authorization", value: value, indexing: .neverIndexed) }
    return block
  }
}
