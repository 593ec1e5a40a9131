import HTTPTypes
import Registry
import Sendouts
package import Wire

extension APIOperation.Tag {
  package static let triggers = Self(
    "Triggers",
    """
    Named messages, such as "Order shipped". People write the message once; back ends send it to one contact at a time, by \
    Carma's routes.
    """)
}

/// `/api/v1/triggers`.
package enum TriggerOperations {
  package static let all = [AnyOperation(list), AnyOperation(add), AnyOperation(show), AnyOperation(change)]

  package static let list = Operation(
    get: "/api/v1/triggers", id: "listTriggers", .triggers, "List the triggers",
    "Lists every trigger of the customer by number.", at: .page(of: "trigger", by: TriggerID.self),
    replies: .ok("A page of triggers.", Page<TriggerReply, TriggerID>.form)
  ) { call, page, _ in try await Triggers(call.database).list(call.customer, page) }

  package static let add = Operation(
    .post, "/api/v1/triggers", id: "addTrigger", .triggers, "Add a trigger",
    """
    A named message to the contacts of one app or several. It is active at once. Every text is a Mustache template; it can name \
    the properties that come with each message, before those of the contact. Pages have the template's version of the moment.
    """,
    at: .none, body: .json(TriggerRequest.form), replies: .created("The trigger.", TriggerReply.form),
    errors: [appUnknown, nameTaken], audit: .addTrigger
  ) { call, _, request in
    let trigger = try await Triggers(call.database).add(call.customer, request)
    return Changed(trigger, "trigger \(trigger.triggerId)")
  }

  package static let show = Operation(
    get: "/api/v1/triggers/{id}", id: "showTrigger", .triggers, "Show a trigger", "The trigger as it is now.", at: id,
    replies: .ok("The trigger.", TriggerReply.form), errors: [unknown]
  ) { call, id, _ in try await Triggers(call.database).find(call.customer, id) }

  package static let change = Operation(
    .patch, "/api/v1/triggers/{id}", id: "changeTrigger", .triggers, "Change a trigger, or stop it",
    """
    A change counts for every message after the reply, on all hubs. With `active` false the trigger refuses messages. Messages \
    that it has taken before are sent as they were, those that are due later, too.
    """,
    at: id, body: .json(TriggerRequest.change), replies: .ok("The trigger as it is now.", TriggerReply.form),
    errors: [unknown, appUnknown, nameTaken], audit: .changeTrigger
  ) { call, id, request in
    let (before, after) = try await Triggers(call.database).change(call.customer, id, request)
    return Changed(after, "trigger \(id)", before: before)
  }

  private static let id = Parameters.id(TriggerID.self, "The trigger's `triggerId`.", example: 1)
  package static let unknown = APIResponse.error(
    "The customer has no trigger of this number.", RegistryError.numberUnknown("trigger"))
  private static let appUnknown = APIResponse.error(
    "The app is unknown.", RegistryError.appUnknown(appID: "com.acme.app"))
  private static let nameTaken = APIResponse.error(
    "The customer already has a trigger of this name.", RegistryError.nameTaken("trigger"))
}
