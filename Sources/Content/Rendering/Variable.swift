import Wire

/// What a name in a template stands for; resolved once, when the template is compiled.
enum Variable: Sendable, Equatable {
  case contact(ContactVariable)
  case property([String])
  case device(DeviceField)
  case app(AppField)
  case sendout(SendoutField)
  case sendoutField([String])
  case url
  case pushreadurl
  /// Always empty, as is a field of a text.
  case nothing

  /// A field of the contact.
  enum ContactVariable: Sendable, Equatable, CaseIterable {
    case originalId, listId, dateOfBirth
    case text(ContactField)

    static let allCases = [.originalId, .listId, .dateOfBirth] + ContactField.allCases.map(Self.text)

    var name: String {
      switch self {
      case .originalId: "originalId"
      case .listId: "listId"
      case .dateOfBirth: "dateOfBirth"
      case .text(let field): field.name
      }
    }

    init?(name: String) {
      guard let variable = Self.allCases.first(where: { $0.name == name }) else { return nil }
      self = variable
    }
  }
  enum DeviceField: String, Sendable, CaseIterable { case manufacturer, model, osVersion, country, timeZone, locale }
  enum AppField: String, Sendable, CaseIterable { case appId, name }
  enum SendoutField: String, Sendable, CaseIterable { case id, name, alert, info }

  /// - Parameter path: the names between the dots; at least one.
  init(path: [String]) {
    let rest = Array(path.dropFirst())
    switch path[0] {
    case "properties": self = rest.isEmpty ? .nothing : .property(rest)
    case "device": self = Self.field(rest, Variable.device)
    case "app": self = Self.field(rest, Variable.app)
    case "sendout" where rest.first == "fields":
      self = rest.count > 1 ? .sendoutField(Array(rest.dropFirst())) : .nothing
    case "sendout": self = Self.field(rest, Variable.sendout)
    case "url": self = rest.isEmpty ? .url : .nothing
    case "pushreadurl": self = rest.isEmpty ? .pushreadurl : .nothing
    case let name:
      guard let field = ContactVariable(name: name) else {
        self = .property(path)
        return
      }
      self = rest.isEmpty ? .contact(field) : .nothing
    }
  }

  private static func field<Field: RawRepresentable<String>>(
    _ path: [String], _ variable: (Field) -> Variable
  ) -> Variable {
    guard path.count == 1, let field = Field(rawValue: path[0]) else { return .nothing }
    return variable(field)
  }

  /// Whether its value differs between recipients.
  var isPersonal: Bool {
    switch self {
    case .app, .sendoutField, .sendout(.id), .sendout(.name), .nothing: false
    case .contact, .property, .device, .sendout, .url, .pushreadurl: true
    }
  }

  /// Whether its value is a text, and no list or object.
  var isText: Bool {
    switch self {
    case .property, .sendoutField: false
    case .contact, .device, .app, .sendout, .url, .pushreadurl, .nothing: true
    }
  }
}

extension PageContext {
  /// The names that templates and texts can use, such as `firstName` and `device.model`. Besides these there are a contact's
  /// properties (`properties.food`) and a message's further fields (`sendout.fields.campaign`).
  public static let variables =
    Variable.ContactVariable.allCases.map(\.name) + Variable.DeviceField.allCases.map { "device.\($0.rawValue)" }
    + Variable.AppField.allCases.map { "app.\($0.rawValue)" }
    + Variable.SendoutField.allCases.map { "sendout.\($0.rawValue)" } + ["url", "pushreadurl"]

  /// What a text can name of its recipient: the contact's fields, and all properties and all of the device as one each.
  public static let recipientFields = Variable.ContactVariable.allCases.map(\.name) + ["properties", "device"]

  /// The value of a variable that is a text; `nil` when there is none.
  func text(_ variable: Variable) -> String? {
    switch variable {
    case .contact(let field): contact[field]
    case .device(let field): device[field]
    case .app(.appId): app.appId
    case .app(.name): app.name
    case .sendout(let field): sendout[field]
    case .url: url
    case .pushreadurl: pushreadurl
    case .property, .sendoutField, .nothing: nil
    }
  }
}

extension ContactFields {
  subscript(field: Variable.ContactVariable) -> String? {
    switch field {
    case .originalId: originalId
    case .listId: listId.map { String($0) }
    case .dateOfBirth: dateOfBirth
    case .text(let field): texts[field]
    }
  }
}

extension DeviceFields {
  subscript(field: Variable.DeviceField) -> String? {
    switch field {
    case .manufacturer: manufacturer
    case .model: model
    case .osVersion: osVersion
    case .country: country
    case .timeZone: timeZone
    case .locale: locale
    }
  }
}

extension SendoutFields {
  subscript(field: Variable.SendoutField) -> String? {
    switch field {
    case .id: id.map { String($0) }
    case .name: name
    case .alert: alert
    case .info: info
    }
  }

  /// The value at the end of a path into the message's further fields.
  func field(at path: ArraySlice<String>) -> PropertyValue? {
    path.first.flatMap { values[$0] }.flatMap { $0.value(at: path.dropFirst()) }
  }
}
