import Locking

/// Memory that requests take by their size, limited for each key, which is a customer, and for all.
package final class ByteBudget<Key: Hashable & Sendable>: Sendable {
  private let limit: (key: Int, all: Int)
  private let taken = Mutex<(keys: [Key: Int], all: Int)>(([:], 0))

  /// - Parameters:
  ///   - key: most bytes of one key.
  ///   - all: most bytes of all keys.
  package init(key: Int, all: Int) { limit = (key, all) }

  /// Takes bytes until the reservation is released. The first of a key may be of any size, so that none is refused for ever.
  /// - Throws: `PostgresError.busy` when there are not as many left.
  package func reserve(_ bytes: Int, for key: Key) throws(PostgresError) -> ByteReservation {
    let isTaken = taken.withLock { [limit] taken in
      let ofKey = taken.keys[key] ?? 0
      guard ofKey == 0 || ofKey + bytes <= limit.key, taken.all == 0 || taken.all + bytes <= limit.all else {
        return false
      }
      taken.keys[key] = ofKey + bytes
      taken.all += bytes
      return true
    }
    guard isTaken else { throw .busy("replies of \(limit.key) bytes are being read already") }
    return ByteReservation { [self] in release(bytes, of: key) }
  }

  private func release(_ bytes: Int, of key: Key) {
    taken.withLock { taken in
      let left = (taken.keys[key] ?? 0) - bytes
      taken.keys[key] = left > 0 ? left : nil
      taken.all -= bytes
    }
  }
}

/// Bytes of a budget, for as long as somebody holds it.
public final class ByteReservation: Sendable {
  private let release: @Sendable () -> Void

  init(_ release: @escaping @Sendable () -> Void) { self.release = release }

  deinit { release() }
}
