import FoundationEssentials
import NIOHTTP1
import Simulator
import Support
import Testing

/// The checks of the simulated APNs, each alone and in order.
@Suite struct RequestCheckTests {
  @Test func `A valid request is accepted, and the reply has its id`() async throws {
    try await withRequests { _, requests in
      let answer = try await requests.answer(TestRequest())
      #expect(answer == TestAnswer(200))
      #expect(answer.id == "123e4567-e89b-42d3-a456-426614174000")
      #expect(answer.uniqueID == nil)
      let without = try await requests.answer(TestRequest().with("apns-id", nil), sandbox: true)
      #expect(without == TestAnswer(200))
      #expect(without.id.flatMap(UUID.init(uuidString:)) != nil)
      #expect(without.uniqueID.flatMap(UUID.init(uuidString:)) != nil)
    }
  }

  @Test func `Errors are reported one at a time, in APNs' order`() async throws {
    try await withRequests { simulator, requests in
      let token = String(repeating: "cd", count: 32)
      simulator.apns.restrict(token: token, topic: "com.acme.app")
      simulator.apns.expire(token: token, since: Date(timeIntervalSince1970: 1_700_000_000.123))

      var request = TestRequest(nil)
      request.method = .PUT
      request.path = "/3/devices"
      request.payload = ""
      request.set("apns-id", "123E4567-E89B-42D3-A456-426614174000")
      request.set("apns-topic", nil)
      request.set("apns-collapse-id", String(repeating: "x", count: 65))
      request.set("apns-expiration", "tomorrow")
      request.set("apns-priority", "7")
      request.set("apns-push-type", "shout")

      try await requests.expect(request, 400, "BadMessageId")
      request.set("apns-id", nil)
      try await requests.expect(request, 405, "MethodNotAllowed")
      request.method = .POST
      try await requests.expect(request, 400, "MissingTopic")
      request.set("apns-topic", "com.acme.other")
      try await requests.expect(request, 400, "BadCollapseId")
      request.set("apns-collapse-id", String(repeating: "x", count: 64))
      try await requests.expect(request, 400, "BadExpirationDate")
      request.set("apns-expiration", "0")
      try await requests.expect(request, 400, "BadPriority")
      request.set("apns-priority", "5")
      try await requests.expect(request, 400, "InvalidPushType")
      request.set("apns-push-type", "alert")
      try await requests.expect(request, 404, "BadPath")
      request.path = "/3/device/"
      try await requests.expect(request, 400, "MissingDeviceToken")
      request.path += "xyz"
      try await requests.expect(request, 400, "BadDeviceToken")
      request.path = "/3/device/" + token
      let gone = try await requests.answer(request)
      #expect(gone == TestAnswer(410, "Unregistered"))
      #expect(gone.timestamp == 1_700_000_000_123)
      request.path = "/3/device/" + String(repeating: "ef", count: 32)
      simulator.apns.restrict(token: String(repeating: "ef", count: 32), topic: "com.acme.app")
      try await requests.expect(request, 400, "DeviceTokenNotForTopic")
      request.set("apns-topic", "com.acme.app")
      try await requests.expect(request, 403, "MissingProviderToken")
      request.set("authorization", "bearer nonsense")
      try await requests.expect(request, 403, "InvalidProviderToken")
      request.set("authorization", TestToken(issuedAt: Date(timeIntervalSinceNow: -3700)).authorization)
      try await requests.expect(request, 403, "ExpiredProviderToken")
      request.set("authorization", TestToken.shared)
      try await requests.expect(request, 400, "PayloadEmpty")
      request.payload = #"{"aps":{}}"# + String(repeating: " ", count: 4087)
      try await requests.expect(request, 413, "PayloadTooLarge")
      request.payload.removeLast()
      try await requests.expect(request, 200)
    }
  }

  @Test(arguments: ["1", "5", "10"])
  func `These priorities are known`(_ priority: String) async throws {
    try await withRequests { _, requests in
      try await requests.expect(TestRequest().with("apns-priority", priority), 200)
    }
  }

  @Test func `Priority and push type are optional`() async throws {
    try await withRequests { _, requests in
      let request = TestRequest().with("apns-priority", nil).with("apns-push-type", nil)
      try await requests.expect(request, 200)
    }
  }

  @Test func `A background push of another priority than 5 is refused`() async throws {
    try await withRequests { _, requests in
      let background = TestRequest().with("apns-push-type", "background")
      try await requests.expect(background, 400, "BadPriority")
      try await requests.expect(background.with("apns-priority", nil), 400, "BadPriority")
      try await requests.expect(background.with("apns-priority", "1"), 400, "BadPriority")
      try await requests.expect(background.with("apns-priority", "5"), 200)
    }
  }

  @Test func `A push type with a topic of its own requires its suffix`() async throws {
    try await withRequests { _, requests in
      let call = TestRequest().with("apns-push-type", "voip")
      try await requests.expect(call, 400, "BadTopic")
      try await requests.expect(call.with("apns-topic", "com.acme.app.voip"), 200)
    }
  }

  @Test func `A VoIP payload may be a kilobyte longer`() async throws {
    try await withRequests { _, requests in
      var call = TestRequest().with("apns-push-type", "voip").with("apns-topic", "com.acme.app.voip")
      call.payload = #"{"aps":{}}"# + String(repeating: " ", count: 5110)
      try await requests.expect(call, 200)
      call.payload += " "
      try await requests.expect(call, 413, "PayloadTooLarge")
    }
  }

  @Test func `A doubled header is refused`() async throws {
    try await withRequests { _, requests in
      var request = TestRequest()
      request.headers.append(("apns-topic", "com.acme.app"))
      try await requests.expect(request, 400, "DuplicateHeaders")
    }
  }

  @Test(arguments: [
    ("ab", 200), (String(repeating: "AB", count: 100), 200), ("abc", 400), ("a%62", 400),
    (String(repeating: "ab", count: 101), 400), ("ab/cd", 400),
  ])
  func `A token is an even number of hex digits, up to two hundred`(_ token: String, _ status: Int) async throws {
    try await withRequests { _, requests in
      var request = TestRequest()
      request.path = "/3/device/" + token
      try await requests.expect(request, status, status == 200 ? nil : "BadDeviceToken")
    }
  }

  @Test(arguments: ["nothing", "[]", "{}", #"{"aps":1}"#, #"{"aps":{}"#, #"{"alert":"x"}"#])
  func `A payload that is no JSON object with aps holds no notification`(_ payload: String) async throws {
    try await withRequests { _, requests in
      var request = TestRequest()
      request.payload = payload
      try await requests.expect(request, 400, "PayloadEmpty")
    }
  }

  @Test func `A huge payload is refused`() async throws {
    try await withRequests { _, requests in
      var request = TestRequest()
      request.payload = String(repeating: "x", count: 200_000)
      try await requests.expect(request, 413, "PayloadTooLarge")
      try await requests.expect(TestRequest(), 200)
    }
  }

  @Test func `A token is valid in one environment`() async throws {
    try await withRequests { simulator, requests in
      var request = TestRequest()
      request.path = "/3/device/ABCD"
      simulator.apns.restrict(token: "abcd", to: .sandbox)
      try await requests.expect(request, 400, "BadDeviceToken")
      try await requests.expect(request, sandbox: true, 200)
      request.path = "/3/device/5a4db0c5ff"
      try await requests.expect(request, 400, "BadDeviceToken")
      try await requests.expect(request, sandbox: true, 200)
    }
  }
}
