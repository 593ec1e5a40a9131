import Content
import Testing
import Wire

@Suite struct LinkSignerTests {
  let signer = LinkSigner(keys: [1: (0..<32).map { UInt8($0) }])
  let link = PushLink(
    customer: CustomerID(7), sendout: SendoutID(40_123), push: PushNumber(1_234), device: DeviceID(9_876_543))

  @Test(arguments: PushLink.Kind.allCases)
  func `A token opens what it was made for`(kind: PushLink.Kind) {
    #expect(signer.verify(signer.token(for: link, kind), kind) == link)
  }

  @Test func `A page's token does not mark as read, nor the other way round`() {
    #expect(signer.verify(signer.token(for: link, .page), .read) == nil)
    #expect(signer.verify(signer.token(for: link, .read), .page) == nil)
  }

  @Test func `Another hub's key signs nothing here`() {
    let other = LinkSigner(keys: [1: (0..<32).map { UInt8($0 + 1) }])
    #expect(signer.verify(other.token(for: link, .page), .page) == nil)
  }

  @Test func `The smallest and the largest numbers travel`() {
    for number in [1, 127, 128, 16_383, 16_384, Int64.max] {
      let link = PushLink(
        customer: CustomerID(number), sendout: SendoutID(number), push: PushNumber(number), device: DeviceID(number))
      let token = signer.token(for: link, .page)
      #expect(token.utf8.count <= 94)
      #expect(signer.verify(token, .page) == link)
    }
  }

  /// Every digit stands for six bits, and some of the last one's stand for nothing: those may not be changed either.
  @Test func `No digit of a token can be changed for any other`() {
    let token = Array(signer.token(for: link, .page).utf8)
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    for position in token.indices {
      for digit in digits where digit != token[position] {
        var changed = token
        changed[position] = digit
        #expect(signer.verify(String(decoding: changed, as: UTF8.self), .page) == nil)
      }
    }
  }

  @Test func `A token cut short, or with something behind it, is none`() {
    let token = signer.token(for: link, .page)
    for length in 0..<token.count { #expect(signer.verify(String(token.prefix(length)), .page) == nil) }
    for tail in ["A", "=", "==", "/", "%3D", "\n", " "] { #expect(signer.verify(token + tail, .page) == nil) }
  }

  @Test(arguments: [
    "", "a", "..", "../../etc/passwd", "%00", "\0\0\0\0", "😀😀😀😀😀😀😀😀😀😀", String(repeating: "A", count: 30),
    String(repeating: "A", count: 94), String(repeating: "_", count: 94), String(repeating: "-", count: 1_000_000),
    String(repeating: "gICAgICAgICA", count: 4), "é̂́\u{200D}{{firstName}}",
  ])
  func `Garbage of any length and alphabet is no token`(garbage: String) {
    #expect(signer.verify(garbage, .page) == nil)
  }

  @Test func `Tokens of two pushes have nothing to guess from`() {
    let one = signer.token(for: link, .page)
    let next = PushLink(
      customer: link.customer, sendout: link.sendout, push: PushNumber(link.push.rawValue + 1), device: link.device)
    let two = signer.token(for: next, .page)
    #expect(one.suffix(20) != two.suffix(20))
    #expect(one.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
  }

  @Test func `Links stand under the public URL, whether it ends in a slash or not`() {
    for base in ["https://push.example.com", "https://push.example.com/", "https://push.example.com//"] {
      let links = PublicLinks(base: base, signer: signer)
      #expect(links.page(link) == "https://push.example.com/c/\(signer.token(for: link, .page))")
      #expect(links.read(link) == "https://push.example.com/r/\(signer.token(for: link, .read))")
    }
  }

  @Test func `A link is short`() {
    #expect(signer.token(for: link, .page).utf8.count == 39)
  }

  @Test func `After a rotation new links are signed with the new key, and old ones still open`() {
    let signer = LinkSigner(keys: [1: [UInt8](repeating: 1, count: 32)])
    let old = signer.token(for: link, .page)
    let keys = [1: [UInt8](repeating: 1, count: 32), 2: [UInt8](repeating: 2, count: 32)] as [Int64: [UInt8]]
    signer.replace(keys: keys, maximumAges: [:])
    let new = signer.token(for: link, .page)
    #expect(new != old)
    #expect(signer.verify(old, .page) == link && signer.verify(new, .page) == link)
    #expect(LinkSigner(keys: [2: [UInt8](repeating: 2, count: 32)]).verify(new, .page) == link)
    #expect(LinkSigner(keys: [2: [UInt8](repeating: 2, count: 32)]).verify(old, .page) == nil)
    #expect(LinkSigner(keys: [1: [UInt8](repeating: 2, count: 32)]).verify(new, .page) == nil)
  }

  @Test func `A link expires by its customer's maximum age, and never without one`() throws {
    let key: [Int64: [UInt8]] = [1: Array(0..<32)]
    let token = LinkSigner(keys: key, today: { LinkDay(100) }).token(for: link, .page)
    for (age, day, opens) in [(90, 190, true), (90, 191, false), (1, 101, true), (1, 102, false), (90, 99, true)] {
      let signer = LinkSigner(keys: key, maximumAges: [link.customer: Int32(age)], today: { LinkDay(Int64(day)) })
      #expect((signer.verify(token, .page) != nil) == opens, "\(age) \(day)")
    }
    let others = LinkSigner(keys: key, maximumAges: [CustomerID(8): 1], today: { LinkDay(100_000) })
    let old = try #require(others.verify(token, .page))
    #expect(old.signedOn == LinkDay(100))
    // A page shows the link that it was opened by: it must not become younger by that.
    #expect(others.token(for: old, .page) == token)
  }

  @Test func `A leaked key signs nothing that is dated after it got a successor, nor anything of days to come`() {
    let keys = [1: [UInt8](repeating: 1, count: 32), 2: [UInt8](repeating: 2, count: 32)] as [Int64: [UInt8]]
    let hub = LinkSigner(keys: keys, lastDays: [1: LinkDay(51)], today: { LinkDay(100) })
    for (number, day, opens) in [
      (1, 50, true), (1, 51, true), (1, 52, false), (1, 100, false), (2, 100, true), (2, 101, true), (2, 102, false),
      (2, Int64.max, false),
    ] as [(Int64, Int64, Bool)] {
      let thief = LinkSigner(keys: [number: keys[number] ?? []], today: { LinkDay(day) })
      #expect((hub.verify(thief.token(for: link, .page), .page) != nil) == opens, "\(number) \(day)")
    }
  }

  @Test func `A page signs the links on it with the key that its own link was signed with`() throws {
    let keys = [1: [UInt8](repeating: 1, count: 32), 2: [UInt8](repeating: 2, count: 32)] as [Int64: [UInt8]]
    let old = LinkSigner(keys: [1: keys[1] ?? []]).token(for: link, .page)
    let hub = LinkSigner(keys: keys)
    let read = hub.token(for: try #require(hub.verify(old, .page)), .read)
    #expect(hub.verify(read, .read) == link)
    #expect(LinkSigner(keys: [2: keys[2] ?? []]).verify(read, .read) == nil)
  }
}

/// Addresses where contacts end marketing.
@Suite struct ContactLinkTests {
  let signer = LinkSigner(keys: [1: (0..<32).map { UInt8($0) }])
  let link = ContactLink(customer: CustomerID(7), contact: ContactID(9_876_543))

  @Test func `A token opens its contact's page, and no page of a push`() {
    let token = signer.token(for: link)
    #expect(signer.verify(contact: token) == link)
    for kind in PushLink.Kind.allCases { #expect(signer.verify(token, kind) == nil) }
    for number in [1, 127, 128, Int64.max] {
      let link = ContactLink(customer: CustomerID(number), contact: ContactID(number))
      #expect(signer.verify(contact: signer.token(for: link)) == link)
    }
  }

  @Test func `No token of a push opens a contact's page`() {
    for number in [1, 7, 200, 20_000, Int64.max] {
      let push = PushLink(
        customer: CustomerID(7), sendout: SendoutID(number), push: PushNumber(1), device: DeviceID(number))
      for kind in PushLink.Kind.allCases { #expect(signer.verify(contact: signer.token(for: push, kind)) == nil) }
    }
  }

  @Test func `No digit of a token can be changed for any other, nor any left out`() {
    let token = Array(signer.token(for: link).utf8)
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    for position in token.indices {
      for digit in digits where digit != token[position] {
        var changed = token
        changed[position] = digit
        #expect(signer.verify(contact: String(decoding: changed, as: UTF8.self)) == nil)
      }
      #expect(signer.verify(contact: String(decoding: token[..<position], as: UTF8.self)) == nil)
    }
  }

  @Test func `Another key signs nothing, a leaked one no later days, and links of contacts never become too old`() {
    let key = (0..<32).map { UInt8($0) }
    let token = LinkSigner(keys: [1: key], today: { LinkDay(100) }).token(for: link)
    #expect(LinkSigner(keys: [1: key.reversed()]).verify(contact: token) == nil)
    let keys: [Int64: [UInt8]] = [1: key, 2: Array(key.reversed())]
    #expect(LinkSigner(keys: keys, lastDays: [1: LinkDay(99)], today: { LinkDay(5000) }).verify(contact: token) == nil)
    let aged = LinkSigner(
      keys: keys, lastDays: [1: LinkDay(100)], maximumAges: [CustomerID(7): 30], today: { LinkDay(5000) })
    #expect(aged.verify(contact: token) == link)
  }
}
