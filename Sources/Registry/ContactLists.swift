public import Postgres
public import Wire

/// The store of lists, which are named sets of contacts to send to, and of who is on them. A contact can be on several.
public struct ContactLists: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Adds a list. The name has 1 to 200 characters and is unique within the customer.
  /// - Parameter id: the number apps know the list by already, from 1, unique within the customer; `nil` for the next free one.
  /// - Throws: `RegistryError.invalid`, `.numberTaken`, `.nameTaken`, `.customerUnknown`.
  @discardableResult
  public func add(_ customer: CustomerID, name: String, id: ListID? = nil) async throws -> ListReply {
    let name = try TextRule("name", maximum: 200).require(name)
    if let id, id.rawValue < 1 {
      throw RegistryError.invalid(field: "listId", problem: "must be a whole number from 1 to \(Int64.max)")
    }
    let constraints: [String: RegistryError] = [
      "list_name_key": .nameTaken("list"), "list_customer_id_fkey": .customerUnknown(customer),
    ]
    while true {
      let rows = try await database.mapViolations(constraints) {
        try await $0.query(ContactListQueries.add, customer.rawValue, name, id?.rawValue)
      }
      if let row = rows.first { return try row.reply() }
      // The next number may be one that somebody chose; the one after it may not.
      if id != nil { throw RegistryError.numberTaken("list") }
    }
  }

  /// Every list of a customer, in the order of their numbers.
  public func all(_ customer: CustomerID) async throws -> [ListReply] {
    try await database.query(ContactListQueries.list, customer.rawValue).map { try $0.reply() }
  }

  /// Lists in the order of their numbers.
  public func list(_ customer: CustomerID, _ page: PageRequest<ListID>) async throws -> Page<ListReply, ListID> {
    let rows = try await database.query(
      ContactListQueries.page, customer.rawValue, page.after?.rawValue ?? 0, Int64(page.limit + 1))
    return page.page(of: try rows.map { try $0.reply(ListReply.self) }, cursor: \.listId)
  }

  /// The customer's list of that number, with the count of its members.
  /// - Throws: `RegistryError.numberUnknown`.
  package func show(_ customer: CustomerID, _ list: ListID) async throws -> ListReply {
    guard var reply = try await find(customer, list) else { throw RegistryError.numberUnknown("list") }
    reply.members = try await database.query(
      ContactListQueries.countMembers, customer.rawValue, list.rawValue, Int64(ListReply.mostCounted))[0].decode(
        Int.self)
    return reply
  }

  /// The contacts on a list in the order of their numbers.
  /// - Throws: `RegistryError.numberUnknown`.
  package func members(
    _ customer: CustomerID, _ list: ListID, _ page: PageRequest<ContactID>
  ) async throws -> Page<ContactDetails, ContactID> {
    guard try await find(customer, list) != nil else { throw RegistryError.numberUnknown("list") }
    let rows = try await database.query(
      ContactListQueries.members, customer.rawValue, list.rawValue, page.after?.rawValue ?? 0, Int64(page.limit + 1))
    return page.page(of: try rows.map { try $0.reply(ContactDetails.self) }, cursor: \.contactId)
  }

  /// Puts contacts on a list, and takes others off it. It locks the rows of all in the order of registrations before it changes any.
  /// - Throws: `RegistryError.numberUnknown`, `.invalid`.
  package func change(
    _ customer: CustomerID, _ list: ListID, _ request: MembersRequest
  ) async throws -> MembersChange {
    let (add, remove) = try request.checked()
    guard try await find(customer, list) != nil else { throw RegistryError.numberUnknown("list") }
    try await database.query(ContactListQueries.lock, customer.rawValue, add + remove)
    var (joined, left, unknown): ([ContactID], [ContactID], [String]) = ([], [], [])
    for row in try await database.query(
      ContactListQueries.change, customer.rawValue, list.rawValue, add + remove,
      add.map { _ in true } + remove.map { _ in false })
    {
      let (id, contact, joins, isChanged) = try row.decode(String.self, Int64?.self, Bool.self, Bool.self)
      guard let contact else {
        unknown.append(id)
        continue
      }
      guard isChanged else { continue }
      if joins { joined.append(ContactID(contact)) } else { left.append(ContactID(contact)) }
    }
    return MembersChange(joined: joined, left: left, unknown: unknown)
  }

  /// The lists that a contact is on, by their numbers.
  package func lists(_ customer: CustomerID, of contact: ContactID) async throws -> [ListID] {
    try await database.query(ContactListQueries.ofContact, customer.rawValue, contact.rawValue).map {
      ListID(try $0.decode(Int64.self))
    }
  }

  /// The customer's list of that number; `nil` if there is none.
  public func find(_ customer: CustomerID, _ list: ListID) async throws -> ListReply? {
    try await database.query(ContactListQueries.find, customer.rawValue, list.rawValue).first.map { try $0.reply() }
  }
}

/// Statements on `list`. Columns have the names of the reply's fields.
enum ContactListQueries {
  private static let columns = "list_id, name, created_at"

  /// Adds the list named `$2` with the number `$3`, or the next one; no row when the number is taken.
  static let add = Statement(
    "list.add", .write,
    """
    INSERT INTO list (customer_id, name, list_id)
    VALUES ($1::bigint, $2::text, coalesce($3::bigint, nextval('list_list_id_seq')))
    ON CONFLICT (customer_id, list_id) DO NOTHING
    RETURNING \(columns)
    """)

  static let list = Statement(
    "list.list", .read, "SELECT \(columns) FROM list WHERE customer_id = $1::bigint ORDER BY list_id")

  static let find = Statement(
    "list.find", .read, "SELECT \(columns) FROM list WHERE customer_id = $1::bigint AND list_id = $2::bigint")

  /// From behind `$2`.
  static let page = Statement(
    "list.page", .read,
    """
    SELECT \(columns) FROM list WHERE customer_id = $1::bigint AND list_id > $2::bigint ORDER BY list_id LIMIT $3::bigint
    """)

  /// How many contacts are on the list `$2`, counted up to `$3`. A range of one list, here and below, as the planner takes each list for an
  /// average one where it is compared by =. Of a small list beside a large one it would then read all memberships.
  static let countMembers = Statement(
    "list.count_members", .read,
    """
    SELECT count(*)
      FROM (SELECT FROM list_member
             WHERE customer_id = $1::bigint AND list_id >= $2::bigint AND list_id <= $2::bigint LIMIT $3::bigint) AS member
    """)

  /// The contacts on the list `$2`, from behind the contact `$3`.
  static let members = Statement(
    "list.members", .read,
    """
    SELECT \(ContactSearchQueries.columns)
      FROM (SELECT contact_id AS member_id FROM list_member
             WHERE customer_id = $1::bigint AND (list_id, contact_id) > ($2::bigint, $3::bigint) AND list_id <= $2::bigint
             ORDER BY list_id, contact_id LIMIT $4::bigint) AS member
     CROSS JOIN LATERAL (SELECT * FROM contact WHERE customer_id = $1::bigint AND contact_id = member_id LIMIT 1) AS contact
     ORDER BY member_id
    """)

  /// The lists that the contact `$2` is on.
  static let ofContact = Statement(
    "list.of_contact", .read,
    """
    SELECT list_id FROM list_member WHERE customer_id = $1::bigint AND contact_id = $2::bigint ORDER BY list_id
    """)

  /// Puts the contacts with the original ids `$3` on the list `$2` where `$4` is true, and takes the others off it. Gives a row for each
  /// id: its contact, whether it was to join, and whether anything changed. `lock` has locked them all, so that it sees what others have
  /// committed before.
  static let change = Statement(
    "list.change", .write,
    """
    WITH named AS MATERIALIZED (
      SELECT i.original_id, i.joins, c.contact_id
        FROM (SELECT DISTINCT named.original_id COLLATE "C" AS original_id, named.joins
                FROM unnest($3::text[], $4::boolean[]) AS named (original_id, joins)
               ORDER BY 1) i
        LEFT JOIN LATERAL (
          SELECT contact_id FROM contact WHERE customer_id = $1::bigint AND original_id = i.original_id LIMIT 1) c ON true),
    joined AS (
      INSERT INTO list_member (customer_id, list_id, contact_id)
      SELECT $1::bigint, $2::bigint, contact_id FROM named WHERE joins AND contact_id IS NOT NULL
      ON CONFLICT DO NOTHING
      RETURNING contact_id),
    gone AS (
      DELETE FROM list_member m
       USING named n
       WHERE m.customer_id = $1::bigint AND m.list_id = $2::bigint AND m.contact_id = n.contact_id AND NOT n.joins
      RETURNING m.contact_id),
    changed AS MATERIALIZED (SELECT contact_id FROM joined UNION ALL SELECT contact_id FROM gone),
    noted AS (
      UPDATE contact c SET updated_at = now()
        FROM changed
       WHERE c.customer_id = $1::bigint AND c.contact_id = changed.contact_id)
    SELECT original_id, contact_id, joins, contact_id IS NOT NULL AND contact_id IN (SELECT contact_id FROM changed)
      FROM named
     ORDER BY original_id
    """)

  /// Locks the contacts with the original ids `$2` in the order of registrations.
  static let lock = Statement(
    "list.lock_contacts", .write,
    """
    SELECT c.contact_id
      FROM (SELECT DISTINCT named.original_id COLLATE "C" AS original_id FROM unnest($2::text[]) AS named (original_id)
             ORDER BY 1) i
      CROSS JOIN LATERAL (
        SELECT contact_id FROM contact
         WHERE customer_id = $1::bigint AND original_id = i.original_id LIMIT 1 FOR NO KEY UPDATE) c
    """)

  static let all: [Statement] = [add, list, page, find, countMembers, members, ofContact, lock, change]
}
