/// A contact's place in a sendout, by a hash: the same for all its devices, for every hub, and for a preflight and its freeze.
enum ShareSQL {
  /// What the place is for. Those of different uses have nothing to do with each other.
  enum Use: Int {
    case holdout = 1
    case variant, spread, hold
  }

  /// SQL of a whole number from 0 to 9999.
  static func place(_ use: Use, contact: String, sendout: String) -> String {
    "share_of(\(contact), \(sendout), \(use.rawValue))"
  }

  /// SQL of whether a contact is among so many percent.
  static func isAmong(percent: String, _ use: Use, contact: String, sendout: String) -> String {
    "(\(place(use, contact: contact, sendout: sendout)) < 100 * \(percent))"
  }

  /// SQL of the variant that falls to a contact: the first whose shares, added up, reach its place; 0 for none.
  /// - Parameter bounds: SQL of an ascending array with the sums of shares so far in hundredths of a percent, as `shareBounds` makes it.
  static func variant(bounds: String, contact: String, sendout: String) -> String {
    let index = "width_bucket(\(place(.variant, contact: contact, sendout: sendout)), \(bounds))"
    return "(CASE WHEN \(index) < cardinality(\(bounds)) THEN \(index) + 1 ELSE 0 END)::int2"
  }

  /// The sums of shares in percent, in hundredths of a percent.
  static func shareBounds(_ shares: [Int]) -> [Int32] {
    var sum: Int32 = 0
    return shares.map { share in
      sum += 100 * Int32(share)
      return sum
    }
  }
}
