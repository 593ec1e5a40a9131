import Simulator
import Wire

/// Fifty invented people and their phones, the same at every start.
enum SamplePeople {
  static let all = zip(names, 0...).map(body)

  private static let names = [
    "Ada", "Bela", "Carl", "Dora", "Emil", "Frida", "Gus", "Hanna", "Ivan", "Jana", "Karl", "Lena", "Malik", "Nora",
    "Olof", "Paula", "Quentin", "Rosa", "Sven", "Tilda", "Ugo", "Vera", "Wim", "Xenia", "Yara", "Zeno", "Alma", "Bo",
    "Cleo", "Dag", "Elsa", "Finn", "Greta", "Hugo", "Ines", "Jon", "Kaja", "Leo", "Mira", "Nils", "Oda", "Per", "Rut",
    "Sami", "Tove", "Ulf", "Vida", "Wilma", "Yusuf", "Zoe",
  ]
  private static let families = ["Sample", "Example", "Specimen", "Mustermann", "Exempel"]
  private static let cities = ["Sampleton", "Exampleville", "Testby", "Demodorf"]
  private static let models = ["iPhone 15", "iPhone 16", "iPhone 16 Pro", "iPhone SE", "iPhone 17"]
  private static let foods = ["vegetarian", "fish", "meat", "vegan"]
  private static let drinks = ["tea", "coffee", "water"]

  private static func body(_ name: String, _ number: Int) -> PushDevicesBody {
    let family = families[number % families.count]
    var body = PushDevicesBody()
    body.originalId = "\(name.lowercased()).\(family.lowercased())@example.com"
    body.texts[.emailAddress] = body.originalId
    body.texts[.firstName] = name
    body.texts[.lastName] = family
    body.texts[.city] = cities[number % cities.count]
    body.texts[.country] = "Nowhere"
    body.properties =
      #"{"food":"\#(foods[number % foods.count])","drink":"\#(drinks[number % drinks.count])","points":\#(number * 37)}"#
    body.deviceInfo = [device("phone", number, model: models[number % models.count])]
    if number % 10 == 3 { body.deviceInfo.append(device("tablet", number, model: "iPad Air")) }
    return body
  }

  /// The contact of a telephone number, whose iPhone has the app.
  static let withNumber = {
    var body = PushDevicesBody()
    body.originalId = number
    body.deviceInfo = [device("number", 50, model: models[0])]
    return body
  }()
  /// One that nobody has.
  static let number = "0031600000042"

  /// Those who have a device of that app, too.
  static func further(_ app: SampleApp, vapidKey: String) -> [PushDevicesBody] {
    zip(names, 0...).filter { $0.1 % app.every == app.from }.compactMap { name, number in
      app.device(number, vapidKey).map { device in
        PushDevicesBody(originalId: Self.body(name, number).originalId, deviceInfo: [device])
      }
    }
  }

  private static func device(_ kind: String, _ number: Int, model: String) -> PushDevicesBody.DeviceInfo {
    var device = PushDevicesBody.DeviceInfo(deviceToken: SampleApp.token(kind, number), appType: .ios)
    device.sandboxToken = number % 12 == 7
    device.manufacturer = "Apple"
    device.model = model
    device.osVersion = "\(17 + number % 3).\(number % 5)"
    return device
  }
}
