import Operations
import Registry
import Wire

/// The form of an app: what it has comes from the table of its push service.
enum AppForm {
  /// The fields of a new app.
  static func new(_ type: AppType) -> [FormField] {
    let request = PushAppRequest.form
    var fields = [
      request.field("name", label: "Name", hint: "What people call the app here."),
      request.field("appId", label: type.appIDLabel, hint: type.appIDHint),
    ]
    if type.service.takesSoftphones {
      let kinds: [PushAppKind] = type == .ios ? [.app, .softphone, .pushkit] : [.app, .softphone]
      fields.append(
        request.field(
          "kind", label: "Kind", kind: .choice(kinds.map { FormField.Choice($0.rawValue, $0.label) }),
          hint: "Softphones of Acrobits and Cloud Softphone take messages and calls in a form of their own."))
    }
    if type == .ios {
      fields.append(
        request.field(
          "voipAppId", label: "PushKit AppId",
          hint: "Of a softphone alone: it is added as a second app with the same credentials, and gets the calls."))
    }
    return fields + type.service.fields.map(field)
  }

  /// The fields of an existing app. Credentials that are left empty stay as they are.
  static func change(_ type: AppType) -> [FormField] {
    [
      PushAppRequest.change.field("name", label: "Name", isRequired: true),
      PushAppRequest.change.field(
        "identity", label: "Identity of contacts",
        kind: .choice([
          .init(IdentityMode.off.rawValue, "off: whoever has the device key may register for any contact"),
          .init(IdentityMode.required.rawValue, "required: your back end vouches for the contact"),
        ]), hint: "Requests with a device key then carry X-Pushcart-Identity, to this and every other app of yours."),
      FormField(
        "deviceFields", label: "Fields that device keys may write", kind: .area(rows: 3),
        hint: "One a line, as in firstName or properties.food. Others are ignored. all for no limit."),
    ] + type.service.fields.map(field)
  }

  /// Of all platforms: which of them an app has is not known before it is read.
  static let anyChange =
    change(.ios) + CredentialField.all.filter { !AppType.ios.service.fields.contains($0) }.map(field)

  /// Fields that stand together, by their names.
  typealias Group = (title: String, names: [String])

  /// The ways in which an app of the platform signs in, each with its own fields. Fields of several ways, or of none, follow at the end.
  static func groups(_ type: AppType) -> (ways: [Group], further: [Group]) {
    let service = type.service
    func count(_ field: CredentialField) -> Int { service.signIns.count { $0.fields.contains(field) } }
    func group(_ fields: [CredentialField], _ more: String = "") -> [Group] {
      fields.isEmpty ? [] : [(fields.map(\.label).asList() + more, fields.map(\.name))]
    }
    return (
      service.signIns.flatMap { way in group(way.fields.filter { count($0) == 1 }) },
      group(service.fields.filter { count($0) > 1 }, ", with either") + group(service.fields.filter { count($0) == 0 })
    )
  }

  /// What people need at hand, as in `Team ID, Key ID and Signing key`.
  static func needs(_ type: AppType) -> String {
    guard type != .web else { return "nothing: the hub makes a key pair, or takes yours" }
    return type.service.signIns.map { $0.fields.map(\.label).asList() }.joined(separator: "; or ")
  }

  private static func field(_ field: CredentialField) -> FormField {
    let kind: FormField.Kind =
      switch field.input {
      case .text: .text
      case .line: .password
      case .file(let extensions) where extensions.isEmpty && field.limits != nil: .password
      case .file(let extensions): .file(extensions)
      }
    return FormField(
      field.name, label: field.label, kind: kind, hint: field.origin, limits: field.limits, autocomplete: "off")
  }

  /// What was sent of the app's credentials and rules.
  static func fields(_ form: FormValues) -> PushAppFields {
    var fields = PushAppFields()
    for field in CredentialField.all {
      guard let text = form.text(field.name) else { continue }
      let isFile = if case .file = field.input { true } else { false }
      fields.credentials[field] = Array((isFile ? text : String(text.trimmed)).utf8)
    }
    return fields
  }
}

extension AppType {
  /// As it stands in a path: `ios`.
  var pathName: String { "\(self)" }

  fileprivate var appIDLabel: String {
    switch self {
    case .ios: "Bundle ID"
    case .android, .firebase, .huawei, .windows: "Package name"
    case .web: "Name of the site"
    case .sms: "App ID"
    }
  }

  fileprivate var appIDHint: String {
    switch self {
    case .ios: "As in com.acme.app. developer.apple.com has it under Identifiers. It cannot change later."
    case .android, .firebase: "As in com.acme.app: the applicationId in the app's build.gradle. It cannot change later."
    case .huawei: "As in com.acme.app. AppGallery Connect has it under App information. It cannot change later."
    case .windows: "As your app calls itself towards the hub, such as com.acme.app. It cannot change later."
    case .web: "As your pages call themselves towards the hub, such as shop.acme.com. It cannot change later."
    case .sms: ""
    }
  }
}

extension PushAppKind {
  var label: String {
    switch self {
    case .app: "App"
    case .softphone: "Softphone"
    case .pushkit: "PushKit AppId of a softphone"
    }
  }
}
