// Every file that locks imports this module: all of them change their mutex together.
@_exported public import Synchronization

#if PTHREAD_MUTEX
  import Glibc

  /// A mutex that the thread sanitizer sees, in place of the standard library's.
  ///
  /// On Linux that one is a futex inside the standard library, which is built without the sanitizer: to it, threads that take
  /// turns by a lock race. `make tsan` compiles with `PTHREAD_MUTEX`; nothing else does.
  public struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let value: UnsafeMutablePointer<Value>
    private let lock: UnsafeMutablePointer<pthread_mutex_t>

    /// A mutex that holds the value.
    public init(_ initialValue: consuming sending Value) {
      value = .allocate(capacity: 1)
      value.initialize(to: initialValue)
      lock = .allocate(capacity: 1)
      lock.initialize(to: pthread_mutex_t())
      pthread_mutex_init(lock, nil)
    }

    deinit {
      pthread_mutex_destroy(lock)
      lock.deallocate()
      value.deinitialize(count: 1)
      value.deallocate()
    }

    /// Runs the closure while no other thread has the value.
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      pthread_mutex_lock(lock)
      defer { pthread_mutex_unlock(lock) }
      nonisolated(unsafe) let value = value
      return try body(&value.pointee)
    }
  }
#endif
