import Support
import Testing
import Wire

@Suite struct DescriptionTests {
  @Test func `Every example is as its schema says`() async throws {
    try await withManagementServer { managed in
      #expect(managed.contract.problemsOfExamples == [])
      #expect(managed.contract.operations.count > 20)
    }
  }

  @Test func `Operation ids are unique and every tag is described`() async throws {
    try await withManagementServer { managed in
      let document = managed.contract.document
      #expect(document.string("openapi") == "3.1.0")
      let operations = managed.contract.operations.compactMap {
        document["paths"]?[$0.path]?[$0.method.lowercased()]
      }
      let ids = operations.compactMap { $0.string("operationId") }
      #expect(Set(ids).count == operations.count)
      let tags = Set(document.array("tags")?.compactMap { $0.string("name") } ?? [])
      #expect(operations.allSatisfy { $0.array("tags")?.allSatisfy { tags.contains($0.text ?? "") } == true })
    }
  }

  @Test func `Every event that webhooks are told is described, with the headers that sign it`() async throws {
    try await withManagementServer { managed in
      guard case .object(let webhooks)? = managed.contract.document["webhooks"] else {
        Issue.record("no webhooks are described")
        return
      }
      #expect(Set(webhooks.keys.map(\.text)) == Set(WebhookEvent.allCases.map(\.rawValue)))
      let check = SchemaCheck(document: managed.contract.document)
      for (name, described) in webhooks {
        let post = described["post"]
        let headers = post?.array("parameters") ?? []
        #expect(
          headers.map { $0.string("name") } == ["webhook-id", "webhook-timestamp", "webhook-signature"], "\(name)")
        for header in headers {
          #expect(header["in"] == "header" && header["required"] == true, "\(name)")
          #expect(check.problems(of: header["example"] ?? .null, against: header["schema"] ?? .null) == [], "\(name)")
        }
        #expect(post?["requestBody"]?["content"]?["application/json"]?["schema"] != nil, "\(name)")
        #expect(post?.string("summary")?.isEmpty == false && post?["responses"]?["2XX"] != nil, "\(name)")
      }
    }
  }

  @Test func `The page shows every operation, and all its links work`() async throws {
    try await withManagementServer { managed in
      let page = try await managed.server.send("GET", "/swagger/")
      #expect(page.status == 200)
      #expect(page.header("Content-Security-Policy")?.hasPrefix("default-src 'none'; style-src 'sha256-") == true)
      let anchors = Set(page.text.matches(of: /id="([^"]+)"/).map(\.1))
      let links = Set(page.text.matches(of: /href="#([^"]+)"/).map(\.1))
      #expect(links.subtracting(anchors) == [])
      for operation in managed.contract.operations {
        let described = managed.contract.document["paths"]?[operation.path]?[operation.method.lowercased()]
        #expect(anchors.contains(Substring(described?.string("operationId") ?? "")))
      }
      #expect(!page.text.contains("<script"))
      #expect(!page.text.contains("src="))
    }
  }

  @Test func `The page's path without its slash redirects to it`() async throws {
    try await withManagementServer { managed in
      let reply = try await managed.server.send("GET", "/swagger")
      #expect(reply.status == 308)
      #expect(reply.header("Location") == "/swagger/")
    }
  }
}
