import Foundation
import Support
import Locking

/// A `pushcart` process that runs until it is stopped, such as a hub.
final class RunningPushcart: Sendable {
  private struct State {
    var said: [UInt8] = []
    var text: String { String(decoding: said, as: UTF8.self) }
    var status: Int32?
    var waiting: [(isMet: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let process = Process()
  private let output = Pipe()
  private let state = Mutex(State())

  /// Its output so far, of both streams.
  var text: String { state.withLock { $0.text } }

  /// - Parameters:
  ///   - limits: shell commands that set its limits.
  ///   - program: another program, such as curl.
  init(
    _ arguments: [String], environment: [String: String], folder: String, limits: String = "umask 022",
    program: URL = Pushcart.executable
  ) throws {
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", #"\#(limits); exec "$0" "$@""#, program.path] + arguments
    process.currentDirectoryURL = URL(filePath: folder)
    process.environment = Pushcart.loopbackOnly.merging(["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]) {
      $1
    }
    .merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    process.terminationHandler = { [weak self] process in
      // What it said last may not have been read yet.
      self?.takeOutput { $0.status = process.terminationStatus }
    }
    try process.run()
    // A thread of its own: FileHandle's `readabilityHandler` has crashed in libdispatch when many pipes came and went.
    Thread.detachNewThread { [weak self, output] in
      var ready = pollfd(fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
      while poll(&ready, 1, -1) > 0 || errno == EINTR, self?.takeOutput() == true {}
    }
  }

  deinit { if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) } }

  var processID: Int32 { process.processIdentifier }

  func signal(_ signal: Int32) { Foundation.kill(process.processIdentifier, signal) }

  /// Kills it, as a power cut would, and waits until it is gone.
  func die() async {
    signal(SIGKILL)
    await exit()
  }

  /// Waits for its end.
  @discardableResult
  func exit() async -> Int32 {
    await wait { $0.status != nil }
    return state.withLock { $0.status ?? -1 }
  }

  /// Waits until its output contains the words.
  /// - Throws: `Ended` with its output, if it ended without them.
  func says(_ words: String) async throws {
    await wait { $0.status != nil || $0.text.contains(words) }
    if !text.contains(words) { throw Ended(text: text) }
  }

  struct Ended: Error { let text: String }

  private func wait(_ isMet: @escaping @Sendable (State) -> Bool) async {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        if isMet(state) {
          continuation.resume()
        } else {
          state.waiting.append((isMet, continuation))
        }
      }
    }
  }

  /// Takes the output since the last call.
  /// - Returns: whether there may be more.
  @discardableResult
  private func takeOutput(_ body: @Sendable (inout State) -> Void = { _ in }) -> Bool {
    let descriptor = output.fileHandleForReading.fileDescriptor
    var isOpen = true
    change { state in
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      var chunk = [UInt8](repeating: 0, count: 65536)
      while isOpen, poll(&ready, 1, 0) > 0 {
        let count = Foundation.read(descriptor, &chunk, chunk.count)
        isOpen = count > 0
        state.said += chunk.prefix(max(0, count))
      }
      body(&state)
    }
    return isOpen
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      body(&state)
      let met = state.waiting.indices.filter { state.waiting[$0].isMet(state) }
      for index in met.reversed() { state.waiting.remove(at: index).continuation.resume() }
    }
  }
}
