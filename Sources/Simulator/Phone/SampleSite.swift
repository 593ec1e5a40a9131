import Wire

/// A website's app at a hub: what the sample page needs to subscribe and register its browser.
public struct SampleSite: Sendable {
  /// `http://localhost:8080/rest/1/apps/com.example.shop.web/pushdevices`, say.
  public var registrationURL: String
  /// A key of scope `device`. Whoever opens the page can read it, as everybody can read those of real sites and apps.
  public var deviceKey: String
  /// The app's public VAPID key, 65 bytes in base64url.
  public var vapidKey: String
  /// The shop's.
  public var name: String

  public init(registrationURL: String, deviceKey: String, vapidKey: String, name: String = "Sample shop") {
    self.registrationURL = registrationURL
    self.deviceKey = deviceKey
    self.vapidKey = vapidKey
    self.name = name
  }
}

extension SampleSite {
  /// For `site.html`, the sample page at `/web`: it subscribes its browser to Web Push, and registers the subscription with the hub.
  /// - Parameter site: nil if no hub has an app for it.
  static func values(of site: SampleSite?) -> [String: Any] {
    [
      "name": site?.name ?? "Sample shop", "url": site?.registrationURL ?? "", "key": site?.deviceKey ?? "",
      "vapid": site?.vapidKey ?? "",
    ]
  }
}
