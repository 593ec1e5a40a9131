import Foundation
import Hybrid
import Postgres
import Registry
import Support
import Testing
import Wire

/// Every example of a request or a reply in CM's two documents, in their order: "Hybrid Messaging", and the guide of its SDK, which has
/// those of phones again. Requests are sent as they are printed, but for keys and ids, and replies are held byte for byte.
@Suite struct CMDocumentTests {
  private static let key = "00000000-0000-0000-0000-000000000000"
  private static let number = "0031600000000"
  /// Where the documents print what a wrong request gets, they print its status alone.
  private static let noRegistration =
    #"{"error":"No registration with DeviceID: POST /v1.0/deviceregistrations makes one."}"#

  // MARK: Gateway

  /// Sends an example: its first key is the product token, its second one the app key.
  private func post(_ example: String, _ type: String, to phones: PhoneServer) async throws -> (Int, String) {
    let token = try await AccessKeys(phones.database.pool).make(phones.customer, name: "gateway", scope: .gateway).token
    var body = example
    for value in [token, phones.app.appKey] {
      body.replaceSubrange(try #require(body.range(of: Self.key)), with: value)
    }
    let reply = try await phones.managed.server.post("/gateway.ashx", Array(body.utf8), type: type)
    return (reply.status, reply.text)
  }

  private static let created = """
    {"details":"Created 1 message(s)","errorCode":0,"messages":[{"to":"00447911123456","status":"Accepted",\
    "reference":null,"parts":1,"messageDetails":null,"messageErrorCode":0}]}
    """

  /// Type, text and count of SMS of the only message.
  private func stored(_ phones: PhoneServer) async throws -> String {
    let rows = try await phones.database.query(
      "SELECT concat_ws(' ', kind, recipient, sender, cardinality(m.push_nos)) || ': ' || h.body FROM tracked_message h JOIN message m USING (customer_id, sendout_id, message_no)"
    )
    #expect(rows.count == 1)
    return try rows[0].decode(String.self)
  }

  @Test func `Sending a Hybrid Message HTTP: XML`() async throws {
    try await withPhoneServer { phones in
      let reply = try await post(
        """
        <?xml version="1.0"?>
        <MESSAGES>
          <AUTHENTICATION>
            <PRODUCTTOKEN>00000000-0000-0000-0000-000000000000</PRODUCTTOKEN>
          </AUTHENTICATION>
          <MSG>
            <FROM>Company</FROM>
            <TO>00447911123456</TO>
            <APPKEY>00000000-0000-0000-0000-000000000000</APPKEY>
            <BODY>This message will be delivered as a push message.</BODY>
          </MSG>
        </MESSAGES>
        """, "text/xml", to: phones)
      #expect(reply == (200, ""))
      #expect(
        try await stored(phones)
          == "default 447911123456 Company 1: This message will be delivered as a push message.")
    }
  }

  @Test func `Allowed channels: XML`() async throws {
    try await withPhoneServer { phones in
      let reply = try await post(
        """
        <?xml version="1.0"?>
        <MESSAGES>
          <AUTHENTICATION>
            <PRODUCTTOKEN>00000000-0000-0000-0000-000000000000</PRODUCTTOKEN>
          </AUTHENTICATION>
          <MSG>
            <FROM>Company</FROM>
            <TO>00447911123456</TO>
            <APPKEY>00000000-0000-0000-0000-000000000000</APPKEY>
            <ALLOWEDCHANNELS>Push</ALLOWEDCHANNELS>  
            <BODY>This message will be delivered as a push message.</BODY>
          </MSG>
        </MESSAGES>
        """, "text/xml", to: phones)
      #expect(reply == (200, ""))
      #expect(
        try await stored(phones)
          == "default 447911123456 Company 0: This message will be delivered as a push message.")
    }
  }

  @Test func `Allowed channels: JSON`() async throws {
    try await withPhoneServer { phones in
      let reply = try await post(
        """
        {
            "messages": {
                "authentication": {
                    "producttoken": "00000000-0000-0000-0000-000000000000"
                },
                "msg": [ {
                        "from": "SenderName",
                        "to": [{
                            "number": "00447911123456"
                        }],
                        "body": {
                            "content": "This message will be delivered as a push message"
                        },
                        "allowedChannels": ["Push"],
                        "appKey": "00000000-0000-0000-0000-000000000000"
                    }
                ]
            }
        }
        """, "application/json", to: phones)
      #expect(reply == (200, Self.created))
      #expect(
        try await stored(phones)
          == "default 447911123456 SenderName 0: This message will be delivered as a push message")
    }
  }

  @Test func `App message type: XML`() async throws {
    try await withPhoneServer { phones in
      let reply = try await post(
        """
        <?xml version="1.0"?>
        <MESSAGES>
           <AUTHENTICATION>
             <PRODUCTTOKEN>00000000-0000-0000-0000-000000000000</PRODUCTTOKEN>
           </AUTHENTICATION>
           <MSG>
             <FROM>SenderName</FROM>
             <TO>00447911123456</TO>
             <APPKEY>00000000-0000-0000-0000-000000000000</APPKEY>
             <APPMESSAGETYPE>Critical</APPMESSAGETYPE>
             <BODY>This message will use the critical messaging type.</BODY>
           </MSG>
        </MESSAGES>
        """, "text/xml", to: phones)
      #expect(reply == (200, ""))
      #expect(
        try await stored(phones)
          == "critical 447911123456 SenderName 1: This message will use the critical messaging type.")
    }
  }

  @Test func `App message type: JSON`() async throws {
    try await withPhoneServer { phones in
      let reply = try await post(
        """
        {
            "messages": {
                "authentication": {
                    "producttoken": "00000000-0000-0000-0000-000000000000"
                },
                "msg": [ {
                        "from": "Hybrid Test",
                        "to": [{
                            "number": "00447911123456"
                        }],
                        "body": {
                            "content": "This is a critical message"
                        },
                        "appmessagetype": "critical" ,
                        "appKey": "00000000-0000-0000-0000-000000000000"
                    }
                ]
            }
        }
        """, "application/json", to: phones)
      #expect(reply == (200, Self.created))
      #expect(try await stored(phones) == "critical 447911123456 Hybrid Test 1: This is a critical message")
    }
  }

  // MARK: Request requirements

  /// A registration as it is printed, with what differs between phones taken from this one.
  private func registration(
    _ phone: TestPhone, _ added: TestReply, _ status: String, number: String? = Self.number,
    platform: String = "Android",
    isDevice: Bool = false
  ) throws -> String {
    let msisdn = number.map { "\"\($0)\"" } ?? "null"
    return """
      {"DeviceID":"\(try #require(phone.deviceID))","Msisdn":\(msisdn),"Platform":"\(platform)",\
      "RegistrationStatus":"\(status)","Created":"\(try #require(try added.json.string("Created")))",\
      "RegisteredForPushNotification":\(isDevice),"AppKey":"\(phone.appKey)","AppName":"Acme",\
      "UserAgent":"\(phone.userAgent)"}
      """
  }

  @Test func `Authentication: the header, and 401 where it is wrong`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      try await phone.register()
      let printed =
        #"MAC kid="8eda08f7-5249-40c2-9ef7-ce573f3a8dca" ts="1464242891" mac="dkViwAV9Pi5xiab39VRUq+gU4Co=""#
      let header = try #require(MACAuthorization(printed))
      #expect(header.key == UUID(uuidString: "8eda08f7-5249-40c2-9ef7-ce573f3a8dca"))
      let reply = try await phones.managed.server.send(
        "GET", "/v1.0/messages?$top=100",
        headers: [("Authorization", printed), ("User-Agent", phone.userAgent), ("DeviceID", phone.deviceID ?? "")])
      #expect(reply.status == 401)
      #expect(reply.text == #"{"error":"The request is not signed by a known app, or its clock is wrong."}"#)
    }
  }

  @Test func `Authentication: the query string is included`() async throws {
    try await withPhoneServer { phones in
      let phone = try await phones.phone(verified: Self.number)
      let reply = try await phone.send("GET", "/v1.0/messages?$top=100")
      #expect(reply.status == 200 && reply.text == "[]")
    }
  }

  @Test func `User agent: the platform, and 400 without one`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      phone.userAgent = "MyApp/1.0 (Android 6.0.1; LGE; Nexus 5X; en_US)"
      #expect(try await phone.register().json.string("Platform") == "Android")
      phone.userAgent = "MyApp/1.0"
      let reply = try await phone.send("GET", "/v1.0/deviceregistrations")
      #expect(reply.status == 400)
      #expect(reply.text == #"{"error":"User-Agent must name the platform: iOS, Android or WindowsPhone."}"#)
    }
  }

  @Test func `DeviceID: 400 where it is not correct`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      phone.deviceID = "0c6bf13c-8d1c-474c-ab66-74dadb1c3d7d"
      let reply = try await phone.put(#"{"Msisdn":"0031600000000"}"#)
      #expect(reply.status == 400 && reply.text == Self.noRegistration)
    }
  }

  @Test func `A full HTTP request`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      let added = try await phone.register()
      let signed = phone.authorization("PUT", "/v1.0/deviceregistrations", at: Int64(Date().timeIntervalSince1970))
      let reply = try await phones.managed.server.send(
        "PUT", "/v1.0/deviceregistrations",
        headers: [
          // Blanks alone between its pairs.
          ("Authorization", signed.replacing(",", with: "")),
          ("User-Agent", "MyApp/1.0 (Android 6.0.1; LGE; Nexus 5X; en_US)"), ("DeviceID", phone.deviceID ?? ""),
        ],
        json: """
          {
              "Msisdn": "0031600000000"
          }
          """)
      #expect(reply.status == 200)
      #expect(reply.text == (try registration(phone, added, "WaitingForPin")))
    }
  }

  // MARK: Device registrations

  @Test func `Get device registration information, and 404 where it is not found`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      let added = try await phone.register()
      let reply = try await phone.send("GET", "/v1.0/deviceregistrations")
      #expect(reply.status == 200)
      #expect(reply.text == (try registration(phone, added, "Unverified", number: nil)))
      let created = try #require(try added.json.string("Created"))
      #expect(created.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}/#) != nil)
      phone.deviceID = "9386b95d-d31b-49bd-8bf8-f203bed9236e"
      let unknown = try await phone.send("GET", "/v1.0/deviceregistrations")
      #expect(unknown.status == 404 && unknown.text == Self.noRegistration)
    }
  }

  @Test(arguments: [
    "{}",
    """
    {
        "PushToken":"3b19403cc169950f61471bec7fb21722e9a26f5e35c70a"
    }
    """,
  ])
  func `New device registration`(json: String) async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      let added = try await phone.register(json)
      #expect(added.status == 200)
      #expect(added.text == (try registration(phone, added, "Unverified", number: nil)))
    }
  }

  @Test func `Update device registration`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      let added = try await phone.register()
      let reply = try await phone.put(
        """
        {
            "PushToken":"3b12be3456ea60b82b71bec7fb21722e9a26f5e35c70a",
            "Msisdn":"0031600000000"
        }
        """)
      #expect(reply.status == 200)
      #expect(reply.text == (try registration(phone, added, "WaitingForPin")))
    }
  }

  @Test func `Verification process: a code that is not correct, and one that is`() async throws {
    try await withPhoneServer { phones in
      // The customer's app is one of iOS, where push tokens have 32 bytes.
      var phone = phones.phone()
      phone.userAgent = "MyApp/1.0 (iOS 9.0; iPhone7,2; en_US)"
      let token = String(repeating: "3b", count: 32)
      let added = try await phone.register(#"{"PushToken":"\#(token)","Msisdn":"0031600000000"}"#)
      let pin = try await phones.pin(Self.number)
      let wrong = try await phone.put(
        """
        {
            "VerificationCode":"1234"
        }
        """)
      #expect(wrong.text == (try registration(phone, added, "LastPinVerificationFailed", platform: "iOS")))
      let right = try await phone.put(
        """
        {
            "VerificationCode":"\(pin)"
        }
        """)
      #expect(right.text == (try registration(phone, added, "PinVerified", platform: "iOS", isDevice: true)))
      #expect(wrong.status == 200 && right.status == 200)
    }
  }

  // MARK: Messages

  @Test func `Get messages`() async throws {
    try await withPhoneServer { phones in
      let phone = try await phones.phone(verified: Self.number)
      try await phones.database.query("UPDATE hybrid_registration SET verified_at = '2016-01-01'")
      try await phones.addMessage(
        "Your first message!", to: "31600000000", at: "2016-05-22T23:41:28.563Z", status: "Delivered")
      let id = try await phones.database.query("SELECT message_guid::text FROM tracked_message")[0].decode(String.self)
      let reply = try await phone.send("GET", "/v1.0/messages")
      #expect(reply.status == 200)
      #expect(
        reply.text == """
          [{"ID":"\(id)","UpdateID":"7000000000001","Recipient":"0031600000000","Sender":"MyApp",\
          "Body":"Your first message!","DateTime":"2016-05-22T23:41:28.563","Status":"Delivered",\
          "UpdateIDs":["7000000000001","7000000001001"]}]
          """)
    }
  }

  @Test func `Get messages with the filter of the Android SDK, whose quote is not closed`() async throws {
    try await withPhoneServer { phones in
      let phone = try await phones.phone(verified: Self.number)
      let reply = try await phone.send(
        "GET",
        "/v1.0/messages?$select=ID,Body,DateTime,Sender,UpdateIDs&$skip=10&$top=5&$filter=DateTime%20gt%20DateTime'2016-01-01T12:00:00.000"
      )
      #expect(reply.status == 200 && reply.text == "[]")
    }
  }

  @Test(arguments: [
    """
    {
        "UpdateID":"6509643556",
        "Status":"Delivered"
    }
    """,
    """
    {
        "UpdateID":"6509643556",
        "Status":"Delivered",
        "ReadByRecipient":"2016-05-22T23:41:28.563"
    }
    """,
  ])
  func `Update messages`(json: String) async throws {
    try await withPhoneServer { phones in
      let phone = try await phones.phone(verified: Self.number)
      let reply = try await phone.send("PUT", "/v1.0/messages", json)
      #expect(reply.status == 200 && reply.text == "{}")
    }
  }
}
