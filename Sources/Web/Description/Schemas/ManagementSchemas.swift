import Registry
import Wire

/// Bodies of keys, apps, lists and templates, and of every refusal.
enum ManagementSchemas {
  static let all: [APIDescription.NamedSchema] = [
    .init(
      name: "Error",
      schema: .object(
        [.always("error", .text("One sentence that names the field and the fix."))], "Why a request was not done.")),
    .init(name: "AccessKeyRequest", schema: accessKeyRequest),
    .init(name: "AccessKey", schema: accessKey),
    .init(name: "IssuedAccessKey", schema: issuedAccessKey),
    .init(name: "PushAppRequest", schema: pushAppRequest),
    .init(name: "PushAppChangeRequest", schema: pushAppChangeRequest),
    .init(name: "PushApp", schema: pushApp),
    .init(name: "PushAppCheck", schema: pushAppCheck),
    .init(name: "ListRequest", schema: listRequest),
    .init(name: "List", schema: list),
    .init(name: "TemplateRequest", schema: templateRequest),
    .init(name: "Template", schema: template),
  ]

  private static let name = Schema.text("For people.", length: 1...200)
  private static let scope = Schema.word(
    of: AccessScope.allCases.map(\.rawValue),
    "What the key opens. Each scope opens what the one before it opens, and more.")
  static let appType = Schema.appType("Platform: 1 iOS, 2 Android, 3 Windows, 6 Firebase.")
  private static let teamId = Schema.text("Apple's Team Id (iOS).")
  private static let keyId = Schema.text("Apple's Key Id of the signing key (iOS).")
  private static let signingKey = Schema.text("The text of Apple's `AuthKey_….p8` (iOS). Never given back.")

  private static let accessKeyRequest = Schema.object(
    [.always("name", .text("What the key is for, for people.", length: 1...200)), .always("scope", scope)],
    "An access key to be made.")

  private static let keyFields: [Schema.Field] = [
    .always("keyId", .id("Number of the key, to revoke it by.")), .always("name", .text("What it is for.")),
    .always("scope", scope), .always("createdAt", .moment("When it was made.")),
  ]

  private static let accessKey = Schema.object(
    keyFields + [.maybe("revokedAt", .moment("Since when it opens nothing; absent while it is good."))],
    "An access key, without its token.")

  private static let issuedAccessKey = Schema.object(
    keyFields + [
      .always(
        "token",
        .text("For `X-Carma-Authentication-Token`, or behind `Authorization: Bearer`. Shown this once."))
    ],
    "A new access key.")

  private static let pushAppRequest = Schema.object(
    [
      .always("name", name), .always("appId", .text("Bundle id or package name.", length: 1...200)),
      .always("appType", appType), .maybe("teamId", teamId.orNull), .maybe("keyId", keyId.orNull),
      .maybe("signingKey", signingKey.orNull),
    ], "An app to be added.")

  private static let pushAppChangeRequest = Schema.object(
    [
      .maybe("name", name.orNull), .maybe("teamId", teamId.orNull), .maybe("keyId", keyId.orNull),
      .maybe("signingKey", signingKey.orNull),
    ], "What is to change about an app.")

  private static let pushApp = Schema.object(
    [
      .always("pushAppId", .id("What this API calls the app by.")),
      .always("appId", .text("Bundle id or package name, as apps give it in Carma's paths.")),
      .always("appType", appType), .always("name", .text("For people.")),
      .maybe("teamId", teamId), .maybe("keyId", keyId),
      .always(
        "credentials",
        .array(
          of: .object([
            .always("kind", .word(of: PushCredential.Kind.allCases.map(\.rawValue))),
            .always(
              "fingerprint",
              .text("First 16 hex digits of the SHA-256 of the public key, to tell two files apart.")),
            .maybe("notAfter", .moment("When a certificate expires; absent for keys.")),
            .always("updatedAt", .moment("When it was stored.")),
          ]), "What is stored to open its push service, without the secrets themselves.")),
      .maybe(
        "alarm",
        .object(
          [.always("reason", .text()), .always("since", .moment(""))],
          "Why the app needs somebody's attention, such as refused credentials; absent when all is well.")),
      .always("warnings", .array(of: .text(), "What is odd though it may be right, each a sentence.")),
      .always("createdAt", .moment("When it was added.")),
      .always("updatedAt", .moment("When it or one of its credentials last changed.")),
    ], "An app on one platform.")

  private static let pushAppCheck = Schema.object(
    [
      .always("pushAppId", .id("The app.")), .always("appId", .text("Its bundle id.")),
      .always(
        "checks",
        .array(
          of: .object([
            .always("environment", .word(of: ["production", "sandbox"])),
            .always("verdict", .word(of: PushAppCheckReply.Verdict.allCases.map(\.rawValue))),
            .maybe(
              "reason", .text("The push service's own word, or why it could not be reached; absent when accepted.")),
          ]), "One for each environment.")),
    ], "What the push service said of an app's credentials.")

  private static let listRequest = Schema.object(
    [
      .always("name", name),
      .maybe("listId", .id("The number apps send already; the next free one when absent.").orNull),
    ], "A list to be added.")

  private static let list = Schema.object(
    [
      .always("listId", .id("What apps send as `listId`, and sendouts name as their audience.")),
      .always("name", .text("For people.")), .always("createdAt", .moment("When it was added.")),
    ], "A list of contacts.")

  private static let templateRequest = Schema.object(
    [
      .maybe(
        "contentType",
        .text("Media type the page is served with; `text/html; charset=utf-8` when absent.").orNull),
      .always("body", .text("The Mustache text.")),
    ], "A version of a template to be saved.")

  private static let template = Schema.object(
    [
      .always("name", .text("As sendouts give it.")), .always("version", .id("1, 2, 3, … within the name.")),
      .always("contentType", .text("Media type the page is served with.")),
      .always("createdAt", .moment("When this version was saved.")),
      .maybe("body", .text("The Mustache text; absent in lists.")),
    ], "One version of a template.")
}
