import Crypto
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
  private static let androids = ["Pixel 8", "Pixel 9", "Pixel 9a"]
  private static let huaweis = ["P60 Pro", "Mate 50", "nova 12"]
  private static let surfaces = ["Surface Pro", "Surface Laptop", "Surface Go"]
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

  /// Those who have an Android phone, too.
  static let onAndroid = zip(names, 0...).filter { $0.1 % 5 == 2 }.map { name, number in
    var body = PushDevicesBody()
    body.originalId = Self.body(name, number).originalId
    var device = PushDevicesBody.DeviceInfo()
    device.deviceToken = "sample-\(number):APA91b" + token("android", number)
    device.appType = .firebase
    device.manufacturer = "Google"
    device.model = androids[number % androids.count]
    device.osVersion = "\(14 + number % 3)"
    body.deviceInfo = [device]
    return body
  }

  /// Those who have a Huawei phone, too.
  static let onHuawei = zip(names, 0...).filter { $0.1 % 10 == 4 }.map { name, number in
    var body = PushDevicesBody()
    body.originalId = Self.body(name, number).originalId
    var device = PushDevicesBody.DeviceInfo()
    device.deviceToken = "IQAAAACy0sample" + token("huawei", number) + token("push kit", number)
    device.appType = .huawei
    device.manufacturer = "HUAWEI"
    device.model = huaweis[number % huaweis.count]
    device.osVersion = "\(3 + number % 2).0"
    body.deviceInfo = [device]
    return body
  }

  /// Those who have a Windows computer, too.
  /// - Parameter channel: the channel URI of a device, by a word of its own.
  static func onWindows(_ channel: (String) -> String) -> [PushDevicesBody] {
    further(each: 10, from: 6) { number in
      var device = PushDevicesBody.DeviceInfo()
      device.deviceToken = channel("AwYAAABsample" + token("windows", number))
      device.appType = .windows
      device.manufacturer = "Microsoft"
      device.model = surfaces[number % surfaces.count]
      device.osVersion = "11"
      return device
    }
  }

  /// Those who have subscribed in a browser, too.
  /// - Parameter subscription: of the browser of that name.
  static func inBrowsers(_ subscription: (String) -> String) -> [PushDevicesBody] {
    further(each: 10, from: 8) { number in
      var device = PushDevicesBody.DeviceInfo()
      device.deviceToken = subscription("browser-\(number)")
      device.appType = .web
      device.manufacturer = "Mozilla"
      device.model = "Firefox"
      return device
    }
  }

  /// A device more of some people: every so many of them.
  private static func further(
    each step: Int, from first: Int, _ device: (Int) -> PushDevicesBody.DeviceInfo
  ) -> [PushDevicesBody] {
    zip(names, 0...).filter { $0.1 % step == first }.map { name, number in
      var body = PushDevicesBody()
      body.originalId = Self.body(name, number).originalId
      body.deviceInfo = [device(number)]
      return body
    }
  }

  private static func device(_ kind: String, _ number: Int, model: String) -> PushDevicesBody.DeviceInfo {
    var device = PushDevicesBody.DeviceInfo()
    device.deviceToken = token(kind, number)
    device.appType = .ios
    device.sandboxToken = number % 12 == 7
    device.manufacturer = "Apple"
    device.model = model
    device.osVersion = "\(17 + number % 3).\(number % 5)"
    return device
  }

  /// 64 hex digits, as in an APNs token. One phone has lost the app: the Simulator answers its prefix with 410.
  private static func token(_ kind: String, _ number: Int) -> String {
    let digits = SHA256.hash(data: Array("sample \(kind) \(number)".utf8)).map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }
    return (number == 17 ? "fade0410" : "ab0c0de5") + digits.joined().dropFirst(8)
  }
}
