import Content
import Delivery
import Registry

/// What was looked up for a message or a page, so that no attempt asks twice.
struct LookedUp: Sendable {
  /// The push apps of each appId.
  var apps: [String: [PushApp]] = [:]
  var compiled: MessageService.CompiledMessage?
  /// The template's current one.
  var version: Int32?
  var stream: MessageService.OpenStream?
  var limits: CustomerLimits?

  /// What a page's sendout has; success without one if there is no such sendout.
  var source: PageSource??
  /// The variant of the page's push; success without it if there is no such push.
  var variant: Int16??
  /// What the page's push says; success without it if there is no such push.
  var content: MessageContent??
  var template: PageTemplate?
}

/// Says what an attempt has to wait for, because no cache has it.
///
/// An attempt decides from what was looked up and from caches, and throws this before it does anything. Then it is repeated. So what it needs
/// is checked once, in one order, whether it has to wait or not. Web's `MustWait` is the same for requests.
struct MustLookUp: Error {
  /// Waits for it and notes it.
  let fetch: @Sendable (inout LookedUp) async throws -> Void
}

/// Repeats an attempt until caches, and what was looked up for it, have all that it needs.
func complete<Value>(_ attempt: (LookedUp) throws -> Value) async throws -> Value {
  var found = LookedUp()
  while true {
    do { return try attempt(found) } catch let missing as MustLookUp { try await missing.fetch(&found) }
  }
}

/// Repeats an attempt as `complete` does, but starts no task if caches have all that it needs.
/// - Parameter done: called once, at once or from a task.
func attempt<Value: Sendable>(
  _ attempt: @escaping @Sendable (LookedUp) throws -> Value,
  then done: @escaping @Sendable (Result<Value, any Error>) -> Void
) {
  let result = Result { try attempt(LookedUp()) }
  guard case .failure(is MustLookUp) = result else { return done(result) }
  Task {
    do { done(.success(try await complete(attempt))) } catch { done(.failure(error)) }
  }
}
