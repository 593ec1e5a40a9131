import FoundationEssentials
import Wire

extension SimulatedSMS {
  static let phone = PhoneKind(
    id: "sms", name: "Telephone number", label: "SMS")
}

extension PhonePush {
  /// A message, or what a call says.
  init(_ message: SimulatedSMS.Message, number: Int) {
    self.init(
      number, SimulatedSMS.phone, token: "+\(message.to)", at: message.at,
      app: message.from.isEmpty ? "Unknown" : message.from,
      notes: message.isCall
        ? ["call"] + [message.language].compactMap(\.self)
        : ["SMS", message.isUnicode ? "UCS-2" : "GSM-7", "\(message.parts) part\(message.parts == 1 ? "" : "s")"],
      first: message.isCall ? "Call: \(message.text)" : message.text, second: nil, badge: nil, data: nil,
      payload: message.text)
  }
}
