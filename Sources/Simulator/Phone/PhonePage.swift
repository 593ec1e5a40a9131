import Embedded
import Wire

/// The phone page. Pushes received so far are in the HTML; the script adds later ones.
enum PhonePage {
  /// Most pushes on a screen.
  static let length = 60

  /// - Parameters:
  ///   - pushes: those to show, oldest first.
  ///   - devices: those that pushes were received for.
  ///   - watched: the one device to show; nil for all.
  ///   - last: the number of the last push received.
  static func html(
    _ pushes: [PhonePush], devices: [PhoneDevice], watched: String?, last: Int,
    addresses: [(variable: String, value: String)]
  ) -> String {
    let watchedPhone = watched == nil ? nil : pushes.first?.phone
    let phones = PhoneKind.all.filter { watchedPhone == nil || $0 == watchedPhone }
    return HTMLTemplates.simulator.render(
      "phones",
      [
        "last": last, "watched": watched ?? "", "limit": length,
        "devices": devices.map { $0.line(isWatched: $0.isSame(as: watched)) }, "hasDevices": !devices.isEmpty,
        "phones": phones.map { kind in kind.screen(pushes.filter { $0.phone == kind }) },
        "addresses": addresses.map { ["variable": $0.variable, "value": $0.value] },
        "tokens": PushSimulator.kinds.map { $0.testTokenTable }.filter { !$0.rows.isEmpty }.map { tokens in
          [
            "introduction": Prose.line(tokens.introduction),
            "rows": tokens.rows.map { ["prefix": $0.prefix, "meaning": $0.meaning] },
          ] as [String: Any]
        },
      ])
  }

  /// The style of the page, and that of every phone behind it.
  static let style = ([EmbeddedFile.simulator[named: "phone.css"].text] + PhoneKind.all.map(\.style))
    .joined(separator: "\n")
}

/// A device that pushes were received for.
struct PhoneDevice {
  var token: String
  /// The app's name, and what else tells devices apart.
  var label: String
  private var phone: PhoneKind

  init(_ push: PhonePush) {
    token = push.token
    phone = push.phone
    label = push.app
    if let own = phone.label { label += ", \(own)" }
    if push.notes.contains(SimulatedAPNs.Environment.sandbox.rawValue) { label += ", sandbox" }
  }

  /// Its line in the list, for `_device.html`.
  func line(isWatched: Bool) -> [String: Any] {
    [
      "token": token, "query": token.percentEncoded, "start": String(token.prefix(8)), "end": String(token.suffix(4)),
      "label": label, "isWatched": isWatched,
    ]
  }

  /// Whether somebody named this device; false for nil.
  func isSame(as token: String?) -> Bool { token.map { phone.isSame(self.token, $0) } ?? false }
}
