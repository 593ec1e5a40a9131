/// Writes the JSON of a value of a data tree from its leaves, one after the other: a value of 200,000 leaves takes twenty times the memory
/// of its JSON.
public struct DataTreeValueWriter {
  private var writer = JSONWriter()
  /// The path of the last leaf.
  private var path: [UInt8] = []
  /// Where its names end, each behind its slash. So many objects are open.
  private var ends: [Int] = []
  private var isEmpty = true
  private let isShallow: Bool
  /// Leaves and objects so far.
  public private(set) var placeCount = 0

  /// - Parameter isShallow: whether children are written by their names alone, each being true.
  public init(isShallow: Bool = false) { self.isShallow = isShallow }

  /// Adds a leaf. They come in the order of their paths' bytes, so that those of one object follow each other.
  /// - Parameters:
  ///   - path: from the value on, with a slash behind each name; empty if the leaf is the value.
  ///   - json: as it is stored.
  public mutating func add(_ path: String, _ json: String) {
    isEmpty = false
    guard !path.isEmpty else { return writer.raw(json) }
    let bytes = Array(path.utf8)
    let common = zip(bytes, self.path).prefix { $0 == $1 }.count
    let shared = ends.prefix { $0 <= common }.count
    if ends.isEmpty { writer.open("{") }
    for _ in shared..<max(shared, ends.count - 1) where !isShallow { writer.close("}") }
    ends.removeSubrange(shared...)
    self.path = bytes
    var start = ends.last ?? 0
    while start < bytes.count {
      let slash = bytes[start...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.count
      if !isShallow || ends.isEmpty { writer.name(String(decoding: bytes[start..<slash], as: UTF8.self)) }
      start = slash + 1
      ends.append(start)
      placeCount += 1
      if isShallow {
        if ends.count == 1 { writer.raw("true") }
      } else if start < bytes.count {
        writer.open("{")
      }
    }
    if !isShallow { writer.raw(json) }
  }

  /// Ends the value; null if it has no leaf.
  public mutating func finish() -> [UInt8] {
    if isEmpty { writer.raw("null") }
    for _ in 0..<(isShallow ? min(1, ends.count) : ends.count) { writer.close("}") }
    return writer.bytes
  }
}
