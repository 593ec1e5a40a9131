import CMaxMindDB
import FoundationEssentials

/// A file in MaxMind's format that knows the countries of addresses, such as GeoLite2-Country.mmdb.
///
/// It is mapped into memory. To replace it, put another file in its place by a rename, and restart the hub.
///
/// `@unchecked`: nothing changes the library's state between its opening and its closing, and look-ups only read.
public final class CountryDatabase: @unchecked Sendable {
  private let state: UnsafeMutablePointer<MMDB_s>

  /// - Returns: nil if the file cannot be read, or is none.
  public init?(_ path: String) {
    let state = UnsafeMutablePointer<MMDB_s>.allocate(capacity: 1)
    guard MMDB_open(path, UInt32(MMDB_MODE_MMAP), state) == MMDB_SUCCESS else {
      state.deallocate()
      return nil
    }
    self.state = state
  }

  deinit {
    MMDB_close(state)
    state.deallocate()
  }

  struct Country: Equatable {
    /// Of ISO 3166-1, such as NL.
    var code: String?
    /// In English.
    var name: String?
  }

  /// What is known of an address; where it is used, or else where it is registered.
  func country(of address: IPAddress) -> Country {
    var (lookupError, error) = (Int32(0), Int32(0))
    var found = MMDB_lookup_string(state, address.description, &lookupError, &error)
    guard lookupError == 0, error == MMDB_SUCCESS, found.found_entry else { return Country() }
    let kinds: [StaticString] = ["country", "registered_country"]
    for kind in kinds {
      guard let code = Self.text(&found.entry, kind, "iso_code") else { continue }
      return Country(code: code, name: Self.text(&found.entry, kind, "names", "en"))
    }
    return Country()
  }

  private static func text(_ entry: inout MMDB_entry_s, _ path: StaticString...) -> String? {
    var steps: [UnsafePointer<CChar>?] = path.map { UnsafeRawPointer($0.utf8Start).assumingMemoryBound(to: CChar.self) }
    steps.append(nil)
    var data = MMDB_entry_data_s()
    guard MMDB_aget_value(&entry, &data, steps) == MMDB_SUCCESS, data.has_data,
      data.type == UInt32(MMDB_DATA_TYPE_UTF8_STRING), let text = data.utf8_string
    else { return nil }
    return String(decoding: UnsafeRawBufferPointer(start: text, count: Int(data.data_size)), as: UTF8.self)
  }
}
