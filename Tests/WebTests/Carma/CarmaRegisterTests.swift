import Postgres
import Support
import Testing
import Wire

@Suite struct CarmaRegisterTests {
  @Test(arguments: [
    "{length = 32, bytes = 0x740f4707 bebcf74f 9b7c25d4 8e335894 ... 5f6aa01d }",
    "{length=32,bytes=0x740f4707bebcf74f}", "<740f4707 bebcf74f 9b7c25d4 8e335894 5f6aa01d a5ddb387 462c7eaf 61bb78ad>",
  ])
  func `What iOS prints for a token is refused with how to write the token`(printed: String) async throws {
    try await withCarmaServer { carma in
      let reply = try await carma.put(#"{"originalId":"a","deviceInfo":[{"devicetoken":"\#(printed)"}]}"#)
      #expect(reply.status == 400)
      #expect(
        reply.error?.hasPrefix("deviceInfo[0].devicetoken is what iOS prints for a token") == true, "\(reply.text)")
      #expect(reply.error?.contains("%02x") == true && reply.error?.contains("appType") == false)
    }
  }

  @Test func `The guide's minimal payload registers a device`() async throws {
    try await withCarmaServer { carma in
      let reply = try await carma.put(
        """
        {
          "originalId": "abcabc123123",
          "deviceInfo": [{"devicetoken": "abc123abc123kmlkmlkml",
                          "sandboxToken": "false" }]
        }
        """)
      #expect(reply.status == 200)
      #expect(try reply.json.string("originalId") == "abcabc123123")
      #expect(try reply.json.array("deviceInfo")?.first?.string("devicetoken") == "abc123abc123kmlkmlkml")
    }
  }

  @Test func `The guide's full list of properties is stored and returned under the guide's own names`() async throws {
    try await withCarmaServer { carma in
      let reply = try await carma.put(
        """
        {
          "listId": \(carma.acme.list), "country": "Sweden", "originalId": "abcabc123123", "firstName": "lars",
          "lastName": "hansson", "middleName": null, "emailAddress": "lars@somewhere.se", "title": null,
          "dateOfBirth": null, "city": null, "zipcode": null, "sex": null, "mobileNumber": null,
          "properties": { "food": "meat", "drink": "tea" },
          "deviceInfo": [
            { "devicetoken": "abc123abc123kmlkmlkml", "manufacturer": "apple", "model": "iphone 6",
              "osVersion": "9.2", "country": "Sweden", "dateOfInvalidation": null, "invalidationType": 0 }
          ]
        }
        """)
      #expect(reply.status == 200)
      #expect(
        try reply.json == [
          "listId": .integer(carma.acme.list.rawValue), "country": "Sweden", "originalId": "abcabc123123",
          "firstName": "lars", "lastName": "hansson", "middleName": nil, "emailAddress": "lars@somewhere.se",
          "title": nil, "dateOfBirth": nil, "city": nil, "zipcode": nil, "sex": nil, "mobileNumber": nil,
          "timeZone": nil, "language": nil, "properties": ["food": "meat", "drink": "tea"],
          "deviceInfo": [
            [
              "devicetoken": "abc123abc123kmlkmlkml", "appType": "1", "sandboxToken": "false",
              "manufacturer": "apple", "model": "iphone 6", "osVersion": "9.2", "country": "Sweden",
              "timezone": nil, "locale": nil, "dateOfInvalidation": nil, "invalidationType": 0,
            ] as JSONValue
          ],
        ])
      #expect(try await carma.get("abcabc123123").json == reply.json)
    }
  }

  @Test func `The guide's older path answers too`() async throws {
    try await withCarmaServer { carma in
      let json = #"{"originalid":"a","deviceInfo":[{"deviceToken":"t"}]}"#
      let put = try await carma.send("PUT", carma.path("devices"), json: json)
      #expect(put.status == 200)
      let get = try await carma.send("GET", carma.path("devices/a"))
      #expect(try get.json == put.json)
      let invalidate = try await carma.send(
        "PUT", carma.path("devices/invalidation"), json: #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#)
      #expect(invalidate.status == 200)
    }
  }

  @Test func `A contact that was fetched can be put back as it is`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put(
        """
        {"originalId":"a","listId":"\(carma.acme.list)","dateOfBirth":"1980-02-29","properties":{"n":1.50,"t":true},
         "deviceInfo":[{"devicetoken":"t1","sandboxToken":true},{"devicetoken":"t2"}]}
        """)
      _ = try await carma.invalidate(
        #"{"originalId":"a","deviceInfo":[{"devicetoken":"t2","invalidationType":"5","dateOfInvalidation":1700000000123}]}"#
      )
      let fetched = try await carma.get("a")
      #expect(try fetched.json["dateOfBirth"] == .integer(320_630_400_000))
      let second = try fetched.json.array("deviceInfo")?.last
      #expect(second?["dateOfInvalidation"] == .integer(1_700_000_000_123))
      #expect(second?["invalidationType"] == 5)
      let before = try await carma.rows().filter { !$0.hasPrefix("d") }
      let put = try await carma.put(fetched.text)
      #expect(try put.json == fetched.json)
      #expect(try await carma.rows().filter { !$0.hasPrefix("d") } == before)
    }
  }

  @Test func `appType may be left out when the appId has one platform`() async throws {
    try await withCarmaServer { carma in
      let reply = try await carma.put("a", token: "t")
      #expect(try reply.json.array("deviceInfo")?.first?.string("appType") == "1")
    }
  }

  @Test func `Of a token given twice the last one counts, in whichever case`() async throws {
    try await withCarmaServer { carma in
      let reply = try await carma.put(
        #"{"originalId":"a","deviceInfo":[{"devicetoken":"AB12","model":"1"},{"devicetoken":"ab12","model":"2"}]}"#)
      #expect(reply.status == 200)
      #expect(try reply.json.array("deviceInfo")?.map { $0.string("model") } == ["2"])
      let again = try await carma.put("a", token: "Ab12")
      #expect(try again.json.array("deviceInfo")?.map { $0.string("devicetoken") } == ["Ab12"])
    }
  }

  @Test func `An ambiguous appId without appType is refused, and says so`() async throws {
    try await withCarmaServer { carma in
      let reply = try await carma.put(
        #"{"originalId":"a","deviceInfo":[{"devicetoken":"t","appType":1},{"devicetoken":"u"}]}"#, app: "com.acme.both")
      #expect(reply.status == 400)
      #expect(
        reply.error == "deviceInfo[1].appType is needed: this appId stands for apps on several platforms.")
      #expect(try await carma.rows() == [])
    }
  }

  @Test func `appType tells the platforms of one appId apart`() async throws {
    try await withCarmaServer { carma in
      let reply = try await carma.put(
        #"{"originalId":"a","deviceInfo":[{"devicetoken":"t","appType":"1"},{"devicetoken":"t","appType":2}]}"#,
        app: "com.acme.both")
      #expect(try reply.json.array("deviceInfo")?.compactMap { $0.string("appType") }.sorted() == ["1", "2"])
      #expect(try await carma.get("a", app: "com.acme.both").json == reply.json)
      // The contact is the same one in every app; its devices are those of the app asked for.
      #expect(try await carma.get("a").json.array("deviceInfo") == [])
    }
  }

  @Test func `An appType that the app has no platform for is refused by name`() async throws {
    try await withCarmaServer { carma in
      let reply = try await carma.put(#"{"originalId":"a","deviceInfo":[{"devicetoken":"t","appType":2}]}"#)
      #expect(reply.status == 400)
      #expect(reply.error?.hasPrefix("deviceInfo[0].appType ") == true)
    }
  }

  @Test func `The reply lists all devices of the contact, not only those sent`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("a", token: "t1")
      let reply = try await carma.put("a", token: "t2")
      #expect(try reply.json.array("deviceInfo")?.map { $0.string("devicetoken") } == ["t1", "t2"])
    }
  }

  @Test func `A shared phone shows no pushes of its former user`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("former", token: "t")
      _ = try await carma.put("present", token: "t")
      #expect(try await carma.get("former").json.array("deviceInfo") == [])
      #expect(try await carma.get("present").json.array("deviceInfo")?.count == 1)
    }
  }

  @Test func `A reply of 200 is on disk: another connection sees it at once`() async throws {
    try await withCarmaServer { carma in
      for number in 0..<50 {
        #expect(try await carma.put("user\(number)", token: "t\(number)").status == 200)
        let seen = try await carma.database.withPool { pool in
          try await pool.query(sql: "SELECT count(*) FROM device")[0].decode(Int.self)
        }
        #expect(seen == number + 1)
      }
    }
  }

  @Test func `An invalid body is refused by its field and writes nothing`() async throws {
    try await withCarmaServer { carma in
      for (json, error) in [
        (#"{"deviceInfo":[{"devicetoken":"t"}]}"#, "originalId is missing."),
        (#"{"originalId":null,"deviceInfo":[{"devicetoken":"t"}]}"#, "originalId is missing."),
        (#"{"originalId":"","deviceInfo":[{"devicetoken":"t"}]}"#, "originalId is empty."),
        (#"{"originalId":["a"],"deviceInfo":[{"devicetoken":"t"}]}"#, "originalId must be a string."),
        (#"{"originalId":"a\u0000","deviceInfo":[{"devicetoken":"t"}]}"#, "originalId must not hold U+0000."),
        (#"{"originalId":"a","zipcode":false,"deviceInfo":[{"devicetoken":"t"}]}"#, "zipcode must be a string."),
        (#"{"originalId":true,"deviceInfo":[{"devicetoken":"t"}]}"#, "originalId must be a string."),
        (
          #"{"originalId":"a","deviceInfo":[{"devicetoken":"t","model":false}]}"#,
          "deviceInfo[0].model must be a string."
        ),
        (#"{"originalId":"a"}"#, "deviceInfo must hold 1 to 100 devices."),
        (#"{"originalId":"a","deviceInfo":[]}"#, "deviceInfo must hold 1 to 100 devices."),
        (#"{"originalId":"a","deviceInfo":null}"#, "deviceInfo must hold 1 to 100 devices."),
        (#"{"originalId":"a","deviceInfo":[{}]}"#, "deviceInfo[0].devicetoken is missing."),
        (
          #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"},{"devicetoken":""}]}"#,
          "deviceInfo[1].devicetoken is empty."
        ),
        (
          #"{"originalId":"a","deviceInfo":[{"devicetoken":"a b"}]}"#,
          "deviceInfo[0].devicetoken holds a blank or a control character."
        ),
        (
          #"{"originalId":"a","deviceInfo":[{"devicetoken":"t","invalidationType":-1}]}"#,
          "deviceInfo[0].invalidationType must be a whole number from 0 to 32767."
        ),
        (
          #"{"originalId":"a","listId":99999999,"deviceInfo":[{"devicetoken":"t"}]}"#,
          "listId names no list of this customer."
        ),
        (
          #"{"originalId":"a","dateOfBirth":"yesterday","deviceInfo":[{"devicetoken":"t"}]}"#,
          "dateOfBirth must be a date: milliseconds since 1970, or as in 1980-02-29 or 2016-02-09T11:00:00+0100."
        ),
      ] as [(String, String)] {
        let reply = try await carma.put(json)
        #expect(reply.status == 400, "\(json)")
        #expect(reply.error == error, "\(json)")
        #expect(try await carma.rows() == [], "\(json)")
      }
    }
  }

  @Test func `Texts have limits, and the longest that may be stored is stored`() async throws {
    try await withCarmaServer { carma in
      let long = String(repeating: "😀", count: 255)
      let token = String(repeating: "t", count: 4096)
      let fine = try await carma.put(
        #"{"originalId":"\#(long)","firstName":"\#(long)","deviceInfo":[{"devicetoken":"\#(token)","model":"\#(long)"}]}"#
      )
      #expect(fine.status == 200)
      for (json, field) in [
        (#"{"originalId":"\#(long)x","deviceInfo":[{"devicetoken":"t"}]}"#, "originalId"),
        (#"{"originalId":"a","city":"\#(long)x","deviceInfo":[{"devicetoken":"t"}]}"#, "city"),
        (#"{"originalId":"a","deviceInfo":[{"devicetoken":"\#(token)x"}]}"#, "deviceInfo[0].devicetoken"),
        (#"{"originalId":"a","deviceInfo":[{"devicetoken":"t","osVersion":"\#(long)x"}]}"#, "deviceInfo[0].osVersion"),
      ] {
        let reply = try await carma.put(json)
        #expect(reply.status == 400)
        #expect(reply.error?.hasPrefix("\(field) is longer than ") == true, "\(reply.text)")
      }
    }
  }
}
