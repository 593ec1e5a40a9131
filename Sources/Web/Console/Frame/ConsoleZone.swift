import Foundation
import Wire

/// Writes moments in a customer's time zone.
struct ConsoleZone: Sendable {
  /// As in `Europe/Amsterdam`.
  let name: String
  private let zone: TimeZone

  /// - Parameter name: of the IANA time zone database; another one counts as UTC.
  init(_ name: String = "UTC") {
    let zone = TimeZone(identifier: name)
    self.name = zone == nil ? "UTC" : name
    self.zone = zone ?? .gmt
  }

  /// For `{{>_time}}`: `text` as in `20 Nov 2026, 22:13`, `day` of it alone, `utc` for people, and `iso` for machines.
  func time(_ date: Date) -> [String: Any] {
    let stamp = Timestamp(date).description
    return [
      "text": text(date), "day": day(date), "utc": String(stamp.prefix(19)).replacing("T", with: " ") + " UTC",
      "iso": stamp,
    ]
  }

  func time(_ moment: Timestamp) -> [String: Any] { time(moment.date) }

  /// As in `20 Nov 2026, 22:13`.
  func text(_ date: Date) -> String { "\(day(date)), \(local(date).dropFirst(11).prefix(5))" }

  /// As in `20 Nov 2026`.
  func day(_ date: Date) -> String {
    let parts = local(date).prefix(10).split(separator: "-")
    let month = Int(parts[1]).map { Self.months[$0 - 1] } ?? ""
    return "\(Int(parts[2]) ?? 0) \(month) \(parts[0])"
  }

  /// As a field of the type `datetime-local` has it: `2026-11-20T22:13`.
  func field(_ date: Date) -> String { String(local(date).prefix(16)) }

  /// The moment that such a field stands for; `nil` if it holds none. Of an hour that comes twice it is the first.
  func moment(ofField text: String) -> Timestamp? {
    if let exact = Timestamp(text) { return exact }
    let seconds = text.utf8.count == 16 ? ":00Z" : "Z"
    guard let local = Timestamp(text + seconds)?.date else { return nil }
    // The offset of the moment is that of a moment nearby, but for the hours around a change.
    let before = local.addingTimeInterval(-Double(zone.secondsFromGMT(for: local.addingTimeInterval(-86_400))))
    if zone.secondsFromGMT(for: before) == Int(local.timeIntervalSince(before)) { return Timestamp(before) }
    let after = local.addingTimeInterval(-Double(zone.secondsFromGMT(for: local.addingTimeInterval(86_400))))
    return Timestamp(after)
  }

  /// As in `2026-11-20T22:13:49.120`.
  private func local(_ date: Date) -> String {
    Timestamp(date.addingTimeInterval(Double(zone.secondsFromGMT(for: date)))).withoutZone
  }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}
