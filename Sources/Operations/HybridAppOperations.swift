import HTTPTypes
import Hybrid
import Registry
package import Wire

extension APIOperation.Tag {
  package static let hybrid = Self(
    "Hybrid phones",
    """
    CM Hybrid Messaging's apps, and the phones that have them. Phones sign their requests under `/v1.0` with their app's secret.
    """, readers: [.operator], editors: [.operator])
}

/// `/api/v1/hybrid`: apps of CM Hybrid Messaging.
package enum HybridAppOperations: ManagedOperations {
  package static let all = [
    AnyOperation(list), AnyOperation(enable), AnyOperation(show), AnyOperation(change), AnyOperation(rotate),
    AnyOperation(phones),
  ]

  package static let list = Operation(
    get: "/api/v1/hybrid", id: "listHybridApps", .hybrid, "List the apps of Hybrid Messaging",
    "Lists every app whose phones are reached by their numbers.", at: .namedPage(of: "appId", example: "com.acme.app"),
    replies: .ok("A page of apps.", Page<HybridAppReply, String>.form)
  ) { call, page, _ in page.slice(of: try await HybridApps(call.database).all(call.customer), by: \.appId) }

  package static let enable = Operation(
    .post, "/api/v1/hybrid", id: "enableHybridApp", .hybrid, "Enable Hybrid Messaging for an app",
    """
    The reply has the app key and the app secret that the app is built with. Only this reply has the secret. One app key stands \
    for all platforms of the appId.
    """,
    at: .none, body: .json(HybridAppRequest.form),
    replies: .created("What the app's phones sign with.", IssuedHybridApp.form),
    errors: [
      .error("The app is unknown.", RegistryError.appUnknown(appID: "com.acme.app")),
      .error("It is enabled already.", HybridError.appTaken(appID: "com.acme.app")),
    ], audit: "hybrid.enable", outdates: .hybridApps
  ) { call, _, request in
    let (issued, app) = try await HybridApps(call.database).enable(call.customer, request, vault: call.vault)
    return Changed(issued, .init("hybrid \(issued.appId)", after: app))
  }

  package static let show = Operation(
    get: "/api/v1/hybrid/{appId}", id: "showHybridApp", .hybrid, "Show an app of Hybrid Messaging",
    "The app as it is now, without its secret.", at: appID, replies: .ok("The app.", HybridAppReply.form),
    errors: [unknown]
  ) { call, appID, _ in try await HybridApps(call.database).find(call.customer, appID: appID) }

  package static let change = Operation(
    .patch, "/api/v1/hybrid/{appId}", id: "changeHybridApp", .hybrid, "Change an app of Hybrid Messaging",
    "Other hubs go by the new settings within a moment.", at: appID, body: .json(HybridAppRequest.change),
    replies: .ok("The app as it is now.", HybridAppReply.form), errors: [unknown], audit: "hybrid.change",
    outdates: .hybridApps
  ) { call, appID, request in
    let (before, after) = try await HybridApps(call.database).change(call.customer, appID: appID, request)
    return Changed(after, "hybrid \(appID)", before: before)
  }

  package static let rotate = Operation(
    .post, "/api/v1/hybrid/{appId}/secret", id: "rotateHybridSecret", .hybrid, "Make a new app secret",
    """
    Only this reply has the secret. The one before it works until the next rotation. A secret that leaked is rotated twice, \
    which stops apps that are installed. Other hubs know the new one within a moment.
    """,
    at: appID, body: .none, replies: .created("What the app's phones sign with.", IssuedHybridApp.form),
    errors: [unknown], audit: "hybrid.rotate", outdates: .hybridApps
  ) { call, appID, _ in
    let (issued, before, after) = try await HybridApps(call.database).rotate(
      call.customer, appID: appID, vault: call.vault)
    return Changed(issued, .init("hybrid \(appID)", before: before, after: after))
  }

  package static let phones = Operation(
    get: "/api/v1/hybrid/{appId}/phones", id: "listHybridPhones", .hybrid, "List the phones of an app",
    """
    How far their numbers are verified, and when and from where a push token changed last. That needs no PIN: a phone whose place \
    another token takes is told by a push, as far as its push service takes one.
    """, showsPersonal: true,
    at: appID.and(.page(of: "registration", by: RegistrationID.self)).and(
      .query(
        "number", "Only phones that gave this number last: \(PhoneNumber.form).", example: "0031612345678",
        read: PhoneNumber.read)),
    replies: .ok("A page of phones.", Page<HybridPhoneReply, RegistrationID>.form),
    errors: [unknown, .error("The number is none.", HTTPErrorResponse.noNumber)]
  ) { call, target, _ in
    let ((appID, page), number) = target
    return try await HybridApps(call.database).phones(call.customer, appID: appID, number: number, page)
  }

  private static let appID = Parameters.path("appId", .string(1...200), "The app.", example: "com.acme.app")
  private static let unknown = APIResponse.error(
    "Hybrid Messaging is not enabled for the app.", HybridError.appUnknown(appID: "com.acme.app"))
}
