public import Wire

/// What a page or a message can name: the contact, the device, the app and the sendout.
///
/// Variables have the guide's names: `{{firstName}}`, `{{properties.food}}`, `{{device.model}}`, `{{sendout.name}}`. A property
/// can also be named alone, as `{{food}}`, unless another variable has that name. A name that has more than letters and digits stands
/// in quotation marks: `{{properties."first name"}}`. An unknown name is empty.
public struct PageContext: Sendable {
  public var contact: ContactFields
  /// The contact's further fields.
  public var properties: Properties
  public var device: DeviceFields
  public var app: AppFields
  public var sendout: SendoutFields
  /// `{{url}}`: the address of the rich page; `nil` without one.
  public var url: String?
  /// `{{pushreadurl}}`: the address that marks the push as read.
  public var pushreadurl: String?

  public init(
    contact: ContactFields = ContactFields(), properties: Properties = Properties(),
    device: DeviceFields = DeviceFields(), app: AppFields = AppFields(), sendout: SendoutFields = SendoutFields(),
    url: String? = nil, pushreadurl: String? = nil
  ) {
    self.contact = contact
    self.properties = properties
    self.device = device
    self.app = app
    self.sendout = sendout
    self.url = url
    self.pushreadurl = pushreadurl
  }
}

/// `{{originalId}}`, `{{firstName}}` and so on, as Carma's struct names them.
public struct ContactFields: Sendable, Equatable {
  public var originalId: String?
  public var listId: Int64?
  public var texts = ContactTexts()
  /// As `1980-12-31`.
  public var dateOfBirth: String?

  public init() {}
}

/// `{{device.model}}` and so on. The device token is not among them, so that no page can show it.
public struct DeviceFields: Sendable, Equatable {
  public var manufacturer: String?
  public var model: String?
  public var osVersion: String?
  public var country: String?
  public var timeZone: String?
  public var locale: String?

  public init(
    manufacturer: String? = nil, model: String? = nil, osVersion: String? = nil, country: String? = nil,
    timeZone: String? = nil, locale: String? = nil
  ) {
    self.manufacturer = manufacturer
    self.model = model
    self.osVersion = osVersion
    self.country = country
    self.timeZone = timeZone
    self.locale = locale
  }
}

/// `{{app.name}}` and `{{app.appId}}`.
public struct AppFields: Sendable, Equatable {
  public var appId: String?
  public var name: String?

  public init(appId: String? = nil, name: String? = nil) {
    self.appId = appId
    self.name = name
  }
}

/// `{{sendout.name}}`, `{{sendout.id}}`, and the texts of its message: `{{sendout.alert}}`, `{{sendout.info}}`,
/// `{{sendout.fields.campaign}}`.
public struct SendoutFields: Sendable, Equatable {
  public var id: Int64?
  public var name: String?
  /// The alert as this recipient got it.
  public var alert: String?
  /// The info as this recipient got it.
  public var info: String?
  /// The message's further fields; as this recipient got them, after `MessageTemplate.fill`.
  public var fields: [UTF8String: JSONValue] {
    didSet { values = fields.mapValues(PropertyValue.init) }
  }
  /// The fields as templates read them; made once, since a page may name them often.
  private(set) var values: [UTF8String: PropertyValue]

  public init(
    id: Int64? = nil, name: String? = nil, alert: String? = nil, info: String? = nil,
    fields: [UTF8String: JSONValue] = [:]
  ) {
    self.id = id
    self.name = name
    self.alert = alert
    self.info = info
    self.fields = fields
    values = fields.mapValues(PropertyValue.init)
  }
}
