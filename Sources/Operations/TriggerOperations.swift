import Registry
package import Sendouts
package import Wire

extension APIOperation.Tag {
  package static let triggers = Self(
    "Triggers",
    """
    Named messages, such as "Order shipped". People write the message once; back ends send it to one contact at a time, by \
    Carma's routes.
    """, readers: [.marketer, .analyst], editors: [.marketer])
}

/// `/api/v1/triggers`.
package enum TriggerOperations: ManagedOperations {
  package static let all = [
    AnyOperation(list), AnyOperation(add), AnyOperation(show), AnyOperation(figures), AnyOperation(change),
    AnyOperation(remove),
  ]

  private static let triggers = NumberedOperations<Triggers>(.triggers)
  package static let unknown = triggers.unknown

  package static let list = triggers.list
  package static let show = triggers.show

  package static let figures = Operation(
    get: "/api/v1/triggers/{id}/figures", id: "showTriggerFigures", .triggers, "Show a trigger's figures",
    """
    How many messages it caused on each of the last days, and what became of their pushes: accepted, failed and opened. Days are UTC, and \
    those on which the messages came; an open on a later day counts there, too.
    """,
    at: Parameters.id(TriggerID.self, "The trigger's `triggerId`.", example: 1).and(
      .integer("days", in: 1...DayCounts.kept, "How many days. 30 if absent.", example: 30)),
    replies: .ok("The figures.", TriggerFigures.form), errors: [unknown]
  ) { call, target, _ in
    let (trigger, days) = target
    return try await Triggers(call.slowReads).figures(call.customer, trigger, days: days ?? 30)
  }

  package static let add = triggers.add(
    """
    A named message to the contacts of one app or several. It is active at once. Every text is a Mustache template; it can name \
    the properties that come with each message, before those of the contact. Pages have the template's version of the moment.
    """, errors: [appUnknown])

  package static let change = triggers.change(
    TriggerRequest.change, summary: "Change a trigger, or stop it",
    """
    A change counts for every message after the reply, on all hubs. With `active` false the trigger refuses messages. Messages \
    that it has taken before are sent as they were, those that are due later, too.
    """, errors: [appUnknown])

  package static let remove = triggers.remove(
    """
    Back ends that send its messages get a 404 from now on. Messages that it has taken before are sent as they were, and stay in reports. \
    To stop it for a while, set `active` to false.
    """)

  private static let appUnknown = APIResponse.error(
    "The app is unknown.", RegistryError.appUnknown(appID: "com.acme.app"))
}
