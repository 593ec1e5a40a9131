#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A thread for code that blocks: Swift's cooperative pool must never wait in the kernel.
enum DedicatedThread {
  /// Runs `body` on a new thread, which ends with it. Traps when the system has no thread left.
  static func start(_ body: @escaping @Sendable () -> Void) {
    precondition(startIfPossible(body), "the system has no thread left")
  }

  /// Runs `body` on a new thread, which ends with it.
  /// - Returns: `false` when the system has no thread left, so that `body` will not run.
  static func startIfPossible(_ body: @escaping @Sendable () -> Void) -> Bool {
    let box = Unmanaged.passRetained(Body(body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    #if canImport(Glibc)
      var thread = pthread_t()
      let failure = pthread_create(&thread, &attributes, { enter($0) }, box.toOpaque())
    #else
      var thread: pthread_t?
      let failure = pthread_create(&thread, &attributes, { enter($0) }, box.toOpaque())
    #endif
    if failure != 0 { box.release() }
    return failure == 0
  }

  /// Runs `body` on a new thread and suspends the caller until it is done; on the caller's own if the system has none left.
  static func value<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withUnsafeContinuation { continuation in
      if !startIfPossible({ continuation.resume(returning: body()) }) { continuation.resume(returning: body()) }
    }
  }
}

private final class Body: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func enter(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
  return nil
}
