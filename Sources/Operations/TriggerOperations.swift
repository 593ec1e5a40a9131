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
package enum TriggerOperations {
  package static let all = [AnyOperation(list), AnyOperation(add), AnyOperation(show), AnyOperation(change)]

  private static let triggers = NumberedOperations<Triggers>(.triggers)
  package static let unknown = triggers.unknown

  package static let list = triggers.list
  package static let show = triggers.show

  package static let add = triggers.add(
    """
    A named message to the contacts of one app or several. It is active at once. Every text is a Mustache template; it can name \
    the properties that come with each message, before those of the contact. Pages have the template's version of the moment.
    """, errors: [appUnknown], audit: .addTrigger)

  package static let change = triggers.change(
    TriggerRequest.change, summary: "Change a trigger, or stop it",
    """
    A change counts for every message after the reply, on all hubs. With `active` false the trigger refuses messages. Messages \
    that it has taken before are sent as they were, those that are due later, too.
    """, errors: [appUnknown], audit: .changeTrigger)

  private static let appUnknown = APIResponse.error(
    "The app is unknown.", RegistryError.appUnknown(appID: "com.acme.app"))
}
