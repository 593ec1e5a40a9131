public import Content
import FoundationEssentials
public import Registry
import Wire

extension PageContext {
  /// What a message for this recipient can name. The message's own properties come before the contact's.
  public init(_ recipient: Recipient, app: AppFields, content: MessageContent) {
    self.init(recipient, app: app, sendout: content.sendout)
    if let own = content.properties {
      properties = Properties(json: own).merged(over: Properties(json: recipient.contact.properties))
    }
  }

  /// What a page or a message for this recipient can name.
  public init(_ recipient: Recipient, app: AppFields, sendout: SendoutFields) {
    self.init(recipient.contact, recipient.device, app: app, sendout: sendout)
  }

  /// - Parameter device: nil for one that is not known, whose fields are empty.
  public init(_ contact: Contact, _ device: Device?, app: AppFields, sendout: SendoutFields) {
    var fields = ContactFields()
    fields.originalId = contact.originalID
    fields.listId = contact.listID?.rawValue
    fields.texts = contact.texts
    fields.dateOfBirth = contact.dateOfBirth.map(Self.day)
    self.init(
      contact: fields, properties: Properties(json: contact.properties),
      device: device.map {
        DeviceFields(
          manufacturer: $0.manufacturer, model: $0.model, osVersion: $0.osVersion, country: $0.country,
          timeZone: $0.timeZone, locale: $0.locale)
      } ?? DeviceFields(),
      app: app, sendout: sendout)
  }

  /// As `1980-12-31`, from days since 1970-01-01.
  private static func day(_ days: Int32) -> String {
    Date(timeIntervalSince1970: Double(days) * 86_400).formatted(.iso8601.year().month().day())
  }
}
