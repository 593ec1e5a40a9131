import Foundation
import FuzzProperties

// What the `main` of libFuzzer calls. It feeds the reader that READER names. Without a name it only writes the samples of all readers into
// the folder of the last argument, each reader's into a folder of its own.

private let reader = ProcessInfo.processInfo.environment["READER"].map { name in
  guard let reader = FuzzedReader(rawValue: name) else { fatalError("READER names no reader: \(name)") }
  return reader
}

@_cdecl("LLVMFuzzerInitialize")
public func begin(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>
) -> CInt {
  guard reader == nil, let folder = CommandLine.arguments.last.map({ URL(filePath: $0) }) else { return 0 }
  do {
    for reader in FuzzedReader.allCases {
      let folder = folder.appending(path: reader.rawValue)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for (index, sample) in reader.samples.enumerated() {
        try Data(sample).write(to: folder.appending(path: "sample-\(index)"))
      }
    }
    return 0
  } catch {
    fatalError("\(error)")
  }
}

/// Ends the process if a property is broken. libFuzzer keeps the bytes then.
@_cdecl("LLVMFuzzerTestOneInput")
public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  do {
    try reader?.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
  } catch {
    fatalError("\(error)")
  }
}
