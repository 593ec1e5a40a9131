import Foundation

/// Whether this is a run at full size: `make soak` sets `PUSHCART_SOAK`.
public let isSoak = ProcessInfo.processInfo.environment["PUSHCART_SOAK"] != nil

/// How many of so many samples of one kind are tried: a tenth, or all at full size.
public func sampleSize(of count: Int) -> Int { isSoak ? count : (count + 9) / 10 }
