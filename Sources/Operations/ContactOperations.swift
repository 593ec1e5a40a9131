import Audience
import DataInOut
import HTTPTypes
import Registry
import Sendouts
package import Wire

extension APIOperation.Tag {
  package static let contacts = Self(
    "Contacts",
    """
    The users of the customer's apps, with their devices. Apps register them by Carma's API; people look for them here, correct a field, \
    and retire a device.
    """, readers: [.marketer, .analyst], editors: [.marketer])
}

/// `/api/v1/contacts` and `/api/v1/devices`.
package enum ContactOperations: ManagedOperations {
  package static let all = [
    AnyOperation(list), AnyOperation(show), AnyOperation(put), AnyOperation(change), AnyOperation(data),
    AnyOperation(erase),
    AnyOperation(retire),
  ]

  package static let list = Operation(
    get: "/api/v1/contacts", id: "listContacts", .contacts, "Look for contacts",
    """
    Contacts whose original id, e-mail address, mobile number or name begins with `query`: original ids come first, then addresses, \
    numbers and names, each in alphabetical order. Without `query` all contacts, the newest first. A page can have fewer than `limit`, or \
    none, and still be followed by another one.

    With `filter`, only those who meet it, in the same order. It is asked of one contact after the other: where few of millions meet it, a page \
    takes long, and one that takes half a minute is refused.

    Letters from A to Z are compared without their case, but in original ids: these are found as they are typed, in lower case and in \
    upper case. Of a number only the digits count, without zeros before them; give three of them at least. A name is found by its \
    beginning, as in `lars jan`, and by the last name.
    """,
    at: Parameters.text("query", "How it begins: at most \(ContactSearch.maximumQuery) characters.", example: "lars")
      .and(.choice("field", "Look at this alone.", example: ContactSearchField.name))
      .and(.filter("filter", "Who is meant: a line of text, or a tree as JSON.", example: "country = 'SE'"))
      .and(.namedPage(of: "contact", example: "1")),
    replies: .ok("A page of contacts.", Page<ContactDetails, String>(items: [.listedExample])),
    errors: [SegmentOperations.pageTooSlow]
  ) { call, target, _ in
    let (((query, field), filter), page) = target
    // What else would be found tells the fields that are hidden.
    let shown = call.seesPersonal ? field : .originalId
    guard let filter else {
      return try await ContactSearch(call.database).contacts(call.customer, beginningWith: query, in: shown, page)
        .shown(to: call)
    }
    let resolved = try await call.resolve(filter)
    return try await call.parts.counts.turn(of: call.customer) {
      try await FilterSQL.read(orElse: FilterSQL.insteadOfPage) {
        try await ContactSearch(call.slowReads).contacts(
          call.customer, beginningWith: query, in: shown, meeting: resolved.ofPage, page)
      }
    }.shown(to: call)
  }

  package static let show = Operation(
    get: "/api/v1/contacts/{originalId}", id: "showContactDetails", .contacts, "Show a contact",
    "With its properties, devices, lists and segments, and with what happened with it.", at: originalID,
    replies: .ok("The contact.", ContactDetails.form), errors: [unknown]
  ) { call, id, _ in
    var contact = try await ContactStore(call.database).find(call.customer, id)
    guard call.seesPersonal else { return contact.shown(to: call) }
    contact.segments = try await call.segments(of: id)
    contact.timeline = try await call.parts.reports.read(
      .timeline, call.customer, contact: id, limit: ContactDetails.mostEvents
    ).rows.map { try ContactEvent(from: .object($0)) }
    return contact
  }

  package static let put = Operation(
    .put, "/api/v1/contacts/{originalId}", id: "putContact", .contacts, "Add or replace a contact",
    """
    Afterwards the contact has these fields and properties, and no others. `listIds` that are absent stay as they are, and so do devices. A \
    contact that is added has no device until its app registers one.
    """, at: originalID, body: .json(ContactRequest.whole, upTo: 256 * 1024),
    replies: .ok("The contact as it is now.", ContactDetails.changedExample), audit: "contact.put"
  ) { call, id, request in
    let (before, after) = try await ContactStore(call.database).put(call.customer, id, request)
    return Changed(after, line(from: before, to: after))
  }

  package static let change = Operation(
    .patch, "/api/v1/contacts/{originalId}", id: "changeContact", .contacts, "Change a contact",
    """
    Fields that are absent stay as they are, `""` removes one. Properties are merged by their names, and null removes one. What the app \
    sends with its next registration counts again.
    """, at: originalID, body: .json(ContactRequest.form, upTo: 256 * 1024),
    replies: .ok("The contact as it is now.", ContactDetails.changedExample), errors: [unknown], audit: "contact.change"
  ) { call, id, request in
    let (before, after) = try await ContactStore(call.database).change(call.customer, id, request)
    return Changed(after, line(from: before, to: after))
  }

  package static let data = Operation(
    get: "/api/v1/contacts/{originalId}/data", id: "showContactData", .contacts, "Show all that is stored of a person",
    """
    The rows of all tables that are about the person, or name the person by original id, e-mail address, number or token. Of each table \
    1,000 rows, or 2 MiB, are shown, and `cut` names those that have more. Kept replies of Idempotency-Keys are sealed and not shown.
    """, showsPersonal: true, at: originalID, replies: .ok("What is stored.", ContactDataReply.form), errors: [unknown]
  ) { call, id, _ in try await Erasures(call.slowReads, PersonalTables.all).data(call.customer, id) }

  package static let erase = Operation(
    .delete, "/api/v1/contacts/{originalId}", id: "eraseContact", .contacts, "Erase a person",
    """
    The contact, its devices and memberships are gone with the reply. Texts of messages, registrations of its numbers, rows of imports and \
    names in the audit log follow within moments, whatever happens to a hub meanwhile; ask again to see how far that is, until the answer is \
    404. Pushes on their way are skipped as `erased`, and links of those that arrived answer 410.

    Totals, pushes without identity and suppressions stay. So do filters that name the person: the reply lists them. Replies that are kept for \
    an `Idempotency-Key` are sealed, so all of the customer's are emptied: a request that is repeated is refused, and not run again.
    """, at: originalID, body: .none,
    replies: .ok("The contact is erased.", ErasureReply.form), errors: [unknown], audit: "contact.erase"
  ) { call, id, _ in
    let erasures = Erasures(call.database, PersonalTables.all)
    let (number, names, isNew) = try await erasures.erase(call.customer, id)
    let filters =
      try await AudiencePersonalTables.segments(call.customer, naming: names, in: call.database)
      + SendoutsPersonalTables.sendouts(call.customer, naming: names, in: call.database)
    let reply = try await erasures.find(call.customer, number, filters: filters)
    guard isNew else { return Changed(reply) }
    return Changed(reply, .init("contact \(reply.contactId)", after: ["erasureId": Int64(number)]))
  }

  /// The audit log is for ever, and names fields, not what stands in them.
  private static func line(
    from before: ContactDetails?, to after: ContactDetails
  ) -> [Changed<ContactDetails>.Line] {
    let target = "contact \(after.contactId)"
    guard let before else {
      let none = ContactDetails(
        contactId: after.contactId, originalId: "", createdAt: after.createdAt, updatedAt: after.updatedAt)
      return [.init(target, after: ContactChanges(from: none, to: after).names)]
    }
    let names = ContactChanges(from: before, to: after).names
    return names.isEmpty ? [] : [.init(target, before: [String](), after: names)]
  }

  package static let retire = Operation(
    .delete, "/api/v1/devices/{id}", id: "retireDevice", .contacts, "Retire a device",
    """
    Nothing is sent to the device any more, until its app registers it again. It stays in reports and in its contact's timeline. A device \
    that is invalid already stays as it is.
    """, at: .id(DeviceID.self, "The device's number.", example: 12), body: .none,
    replies: .ok("The device as it is now.", DeviceDetails.retiredExample),
    errors: [.error("The customer has no device of this number.", RegistryError.numberUnknown("device"))],
    audit: "device.retire"
  ) { call, id, _ in
    let (before, after) = try await ContactStore(call.database).retire(call.customer, id, by: call.key)
    return Changed(
      after,
      .init(
        "device \(id)", before: ["isValid": before.invalidatedAt == nil], after: ["isValid": after.invalidatedAt == nil]
      )
    )
  }

  /// The customer's own id of a contact, in the path.
  static let originalID = Parameters.path(
    "originalId", .string(1...Registration.maximumOriginalID),
    "Your own id of the user, percent-encoded. It is compared exactly.", example: "lars@example.com")
  static let unknown = APIResponse.error(
    "The customer has no contact of this id.", RegistryError.contactUnknown(originalID: "lars@example.com"))
}

/// Which fields of a contact a change has changed.
private struct ContactChanges {
  let names: [String]

  init(from before: ContactDetails, to after: ContactDetails) {
    var names = ContactField.allCases.filter { before.texts[$0] != after.texts[$0] }.map(\.name)
    if before.listIds != after.listIds { names.append("listIds") }
    if before.dateOfBirth != after.dateOfBirth { names.append("dateOfBirth") }
    if (before.properties ?? [:]) != (after.properties ?? [:]) { names.append("properties") }
    self.names = names
  }
}

extension ContactDetails {
  /// As the caller may see it: without names, addresses, numbers and whatever else is known of the person, unless the caller sees
  /// personal fields. Every operation that shows contacts asks this.
  func shown(to call: OperationCall) -> ContactDetails {
    guard !call.seesPersonal else { return self }
    var contact = self
    contact.texts = ContactTexts()
    contact.dateOfBirth = nil
    contact.properties = nil
    contact.segments = nil
    contact.timeline = nil
    return contact
  }
}

extension Page where Item == ContactDetails {
  func shown(to call: OperationCall) -> Self { Page(items: items.map { $0.shown(to: call) }, next: next) }
}
