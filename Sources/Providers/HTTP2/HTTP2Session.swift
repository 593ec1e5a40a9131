import CNghttp2

/// The client's side of one HTTP/2 connection, by libnghttp2: requests become bytes, and bytes become events.
///
/// It has no socket and no clock. Flow control, acknowledgements and header compression are libnghttp2's. It was chosen for speed:
/// NIOHTTP2 took three times as long for a push (docs/design/sendouts.md).
final class HTTP2Session: ConnectionSession {
  typealias Event = SessionEvent

  /// The connection cannot go on.
  struct Failure: Error, Hashable, CustomStringConvertible {
    let description: String

    init(_ code: Int) { description = String(cString: nghttp2_strerror(Int32(code))) }
  }

  /// RFC 9113, section 7.
  static let refusedStream = NGHTTP2_REFUSED_STREAM.rawValue

  private let session: OpaquePointer
  /// The pseudo-headers that come before those of a request.
  private let post: RequestHeaders
  private let get: RequestHeaders
  private var authorization = Authorization()
  private var ending = RequestHeaders(capacity: 0)
  private var events: [Event] = []
  /// The bodies of requests that are not sent completely: the bytes, and how many are sent.
  private var bodies: [Int32: (bytes: [UInt8], sent: Int)] = [:]
  /// The response head that is being received.
  private var status = 0
  private var retryAfter: String?
  private var headers: [String: String] = [:]
  private let responseHeaders: [String]
  private var isFirst = true

  private static let window: Int32 = 1 << 24

  /// - Parameters:
  ///   - authority: the value of `:authority`.
  ///   - responseHeaders: the headers of responses that are reported, in lower case.
  init(authority: String, responseHeaders: [String] = []) {
    self.responseHeaders = responseHeaders
    var callbacks: OpaquePointer?
    var options: OpaquePointer?
    nghttp2_session_callbacks_new(&callbacks)
    nghttp2_option_new(&options)
    defer {
      nghttp2_session_callbacks_del(callbacks)
      nghttp2_option_del(options)
    }
    Self.setCallbacks(callbacks)
    // Closed streams are not remembered: nothing depends on them.
    nghttp2_option_set_no_closed_streams(options, 1)
    func beginning(_ method: PushRequest.Method) -> RequestHeaders {
      var beginning = RequestHeaders()
      beginning.add(":method", method.rawValue)
      beginning.add(":scheme", "https")
      beginning.add(":authority", authority)
      return beginning
    }
    (post, get) = (beginning(.post), beginning(.get))
    var session: OpaquePointer?
    precondition(nghttp2_session_client_new2(&session, callbacks, nil, options) == 0, "out of memory")
    guard let session else { preconditionFailure("no session") }
    self.session = session
    nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
    let settings = [
      nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
      nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: 16 << 10),
    ]
    nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
    nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Self.window)
  }

  deinit { nghttp2_session_del(session) }

  /// Whether nothing more can be sent or received.
  var isOver: Bool { nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0 }

  /// Takes bytes from the server.
  /// - Returns: what happened, in order.
  func receive(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> [Event] {
    let read = nghttp2_session_mem_recv(session, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
    defer { events.removeAll(keepingCapacity: true) }
    if read < 0 { throw Failure(read) }
    return events
  }

  /// Makes bytes of all that is to be sent, as far as flow control allows.
  /// - Returns: what happened, in order: requests were sent, or cannot be.
  func send(_ write: (UnsafeRawBufferPointer) -> Void) throws(Failure) -> [Event] {
    defer { events.removeAll(keepingCapacity: true) }
    while true {
      var bytes: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &bytes)
      if count < 0 { throw Failure(count) }
      if count == 0 { return events }
      write(UnsafeRawBufferPointer(start: bytes, count: count))
    }
  }

  /// Begins a request; `send` makes bytes of it.
  ///
  /// Headers are compressed as Apple advises for APNs: those that stay the same are sent as one byte. Of those that change with each push,
  /// a connection's first request leaves the names in the table. `authorization` is never kept.
  /// - Returns: its stream.
  func submit(_ request: PushRequest, _ authorization: Authorization) throws(Failure) -> Int {
    if authorization != self.authorization {
      self.authorization = authorization
      ending = RequestHeaders()
      if let value = authorization.value { ending.add("authorization", value, .never) }
    }
    let beginning = request.method == .post ? post : get
    let count = beginning.count + request.headers.count + ending.count
    let stream = withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: count) { fields in
      beginning.withFields { beginning in
        request.headers.withFields { headers in
          ending.withFields { ending in
            var end = 0
            while let field = beginning.next() { fields.append(field, at: &end, isFirst: isFirst) }
            while let field = headers.next() { fields.append(field, at: &end, isFirst: isFirst) }
            while let field = ending.next() { fields.append(field, at: &end, isFirst: isFirst) }
            return submit(fields, hasBody: !request.body.isEmpty)
          }
        }
      }
    }
    isFirst = false
    if stream < 0 { throw Failure(Int(stream)) }
    if !request.body.isEmpty { bodies[stream] = (request.body, 0) }
    return Int(stream)
  }

  private func submit(_ fields: UnsafeMutableBufferPointer<nghttp2_nv>, hasBody: Bool) -> Int32 {
    guard hasBody else { return nghttp2_submit_request(session, nil, fields.baseAddress, fields.count, nil, nil) }
    var provider = nghttp2_data_provider()
    provider.read_callback = { _, stream, buffer, capacity, flags, _, userData in
      HTTP2Session.of(userData).read(stream, buffer, capacity, flags)
    }
    return nghttp2_submit_request(session, nil, fields.baseAddress, fields.count, &provider, nil)
  }

  /// Sends RST_STREAM with CANCEL.
  func reset(_ stream: Int) {
    nghttp2_submit_rst_stream(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), Int32(stream), NGHTTP2_CANCEL.rawValue)
  }

  func ping() { nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }
}

// MARK: - Callbacks

extension HTTP2Session {
  private static func of(_ userData: UnsafeMutableRawPointer?) -> HTTP2Session {
    guard let userData else { preconditionFailure("a session without its owner") }
    return Unmanaged.fromOpaque(userData).takeUnretainedValue()
  }

  private static func setCallbacks(_ callbacks: OpaquePointer?) {
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, _, name, nameCount, value, valueCount, _, userData in
      HTTP2Session.of(userData).received(
        UnsafeBufferPointer(start: name, count: nameCount), UnsafeBufferPointer(start: value, count: valueCount))
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, userData in
      if let frame { HTTP2Session.of(userData).received(frame) }
      return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, userData in
      HTTP2Session.of(userData).events.append(
        .body(stream: Int(stream), Array(UnsafeBufferPointer(start: bytes, count: count))))
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, userData in
      if let frame { HTTP2Session.of(userData).sent(frame.pointee.hd) }
      return 0
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, userData in
      let session = HTTP2Session.of(userData)
      session.bodies[stream] = nil
      if code != NGHTTP2_NO_ERROR.rawValue { session.events.append(.failed(stream: Int(stream))) }
      return 0
    }
  }

  private func read(
    _ stream: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ capacity: Int, _ flags: UnsafeMutablePointer<UInt32>?
  ) -> Int {
    guard let (bytes, sent) = bodies[stream] else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    let count = min(capacity, bytes.count - sent)
    bytes.withUnsafeBufferPointer { bytes in
      if let start = bytes.baseAddress { buffer?.update(from: start + sent, count: count) }
    }
    if sent + count == bytes.count {
      flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
      bodies[stream] = nil
    } else {
      bodies[stream]?.sent += count
    }
    return count
  }

  private func received(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
    if name.elementsEqual(":status".utf8) {
      status = value.reduce(0) { $0 * 10 + Int($1 &- UInt8(ascii: "0")) }
    } else if name.elementsEqual("retry-after".utf8) {
      retryAfter = String(decoding: value, as: UTF8.self)
    } else if let wanted = responseHeaders.first(where: { name.elementsEqual($0.utf8) }) {
      headers[wanted] = String(decoding: value, as: UTF8.self)
    }
  }

  private func received(_ frame: UnsafePointer<nghttp2_frame>) {
    let head = frame.pointee.hd
    let stream = Int(head.stream_id)
    let isEnd = head.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    switch UInt32(head.type) {
    case NGHTTP2_HEADERS.rawValue:
      // Trailers have no status.
      if status != 0 {
        events.append(
          .head(stream: stream, status: status, retryAfter: retryAfter, headers: headers, isEnd: isEnd))
      } else if isEnd {
        events.append(.end(stream: stream))
      }
      (status, retryAfter, headers) = (0, nil, [:])
    case NGHTTP2_DATA.rawValue where isEnd: events.append(.end(stream: stream))
    case NGHTTP2_RST_STREAM.rawValue:
      events.append(.reset(stream: stream, code: frame.pointee.rst_stream.error_code))
    case NGHTTP2_GOAWAY.rawValue:
      let goAway = frame.pointee.goaway
      let debugData = UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
      events.append(
        .goAway(lastStream: Int(goAway.last_stream_id), code: goAway.error_code, debugData: Array(debugData)))
    case NGHTTP2_SETTINGS.rawValue where head.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
      let settings = UnsafeBufferPointer(start: frame.pointee.settings.iv, count: frame.pointee.settings.niv)
      let limit = settings.last { $0.settings_id == Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue) }
      events.append(.settings(maxConcurrentStreams: limit.map { Int($0.value) }))
    default: break
    }
  }

  private func sent(_ head: nghttp2_frame_hd) {
    let carriesRequest = [NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue].contains(UInt32(head.type))
    guard carriesRequest, head.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return }
    events.append(.sent(stream: Int(head.stream_id)))
  }
}

extension UnsafeMutableBufferPointer<nghttp2_nv> {
  fileprivate func append(_ field: RequestHeaders.Field, at end: inout Int, isFirst: Bool) {
    let isKept =
      switch field.compression {
      case .indexed: true
      // The name of a pseudo-header is in the static table.
      case .changing: isFirst && field.name.first != UInt8(ascii: ":")
      case .never: false
      }
    let flags = isKept ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
    // libnghttp2 copies both, whatever the types say.
    initializeElement(
      at: end,
      to: nghttp2_nv(
        name: UnsafeMutablePointer(mutating: field.name.bindMemory(to: UInt8.self).baseAddress),
        value: UnsafeMutablePointer(mutating: field.value.bindMemory(to: UInt8.self).baseAddress),
        namelen: field.name.count, valuelen: field.value.count, flags: UInt8(flags.rawValue)))
    end += 1
  }
}
