import CZlib

/// Unpacks gzip as it arrives, piece by piece, so that a small file that unpacks to a large one takes no memory.
///
/// A file may have several members, one behind the other, as `cat a.gz b.gz` makes it. Zeros behind the last one are padding.
package final class Gunzip {
  /// What a file begins with that is packed.
  package static let magic: [UInt8] = [0x1F, 0x8B]
  private static let piece = 64 * 1024

  /// At one place in memory, since zlib's state points back at it.
  private let stream: UnsafeMutablePointer<z_stream>
  private var input: [UInt8] = []
  private var position = 0
  private var isWithinMember = false
  private var hasMembers = false
  /// Whether zlib may hold more than the last piece had room for.
  private var mayHaveMore = false

  package init() throws {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard inflate_init_gzip(stream) == Z_OK else { throw GunzipProblem.damaged }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Takes what has come. All that came before has to be unpacked.
  package func add(_ bytes: [UInt8]) { (input, position) = (bytes, 0) }

  /// Unpacks a piece of 64 KiB at most.
  /// - Returns: `nil` once all that has come is unpacked.
  /// - Throws: `GunzipProblem`.
  package func next() throws -> [UInt8]? {
    while position < input.count || mayHaveMore {
      if !isWithinMember {
        if hasMembers {
          // Padding.
          if input[position] == 0 {
            position += 1
            continue
          }
          guard inflateReset(stream) == Z_OK else { throw GunzipProblem.damaged }
        }
        (isWithinMember, hasMembers) = (true, true)
      }
      let piece = try unpack()
      if !piece.isEmpty { return piece }
    }
    return nil
  }

  /// - Throws: `GunzipProblem.brokenOff` if the file ends within a member.
  package func finish() throws {
    if isWithinMember || !hasMembers { throw GunzipProblem.brokenOff }
  }

  private func unpack() throws -> [UInt8] {
    var status = Z_OK
    var left = 0
    let piece = [UInt8](unsafeUninitializedCapacity: Self.piece) { output, count in
      input.withUnsafeBufferPointer { input in
        // zlib reads what `next_in` points at, and does not write it.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.advanced(by: position))
        stream.pointee.avail_in = UInt32(input.count - position)
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        status = inflate(stream, Z_NO_FLUSH)
        left = Int(stream.pointee.avail_in)
        count = output.count - Int(stream.pointee.avail_out)
      }
    }
    let taken = input.count - position - left
    position += taken
    switch status {
    case Z_STREAM_END: (isWithinMember, mayHaveMore) = (false, false)
    // It wants more input, and has no more output.
    case Z_BUF_ERROR where left == 0: mayHaveMore = false
    case Z_OK: mayHaveMore = piece.count == Self.piece
    default: throw GunzipProblem.damaged
    }
    return piece
  }
}

/// Why a file cannot be unpacked.
package enum GunzipProblem: Error, Equatable {
  case damaged
  case brokenOff
}
