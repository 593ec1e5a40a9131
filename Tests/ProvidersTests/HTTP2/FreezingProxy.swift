import NIOCore
import NIOPosix
import Locking

/// A TCP proxy before a stand-in, whose connections can go silent as when a firewall has forgotten them: they stay open, and nothing
/// passes any more.
final class FreezingProxy: Sendable {
  let port: Int
  private let listener: any Channel
  private let channels: Mutex<[any Channel]>

  /// - Parameter target: the address of the stand-in, on this machine.
  init(to target: String) async throws {
    let targetPort = Int(target.split(separator: ":").last ?? "") ?? 0
    let (accepted, accept) = AsyncStream.makeStream(of: (any Channel).self)
    let group = MultiThreadedEventLoopGroup.singleton
    listener = try await ServerBootstrap(group: group)
      .childChannelOption(.autoRead, value: false)
      .childChannelInitializer { client in
        ClientBootstrap(group: client.eventLoop).channelOption(.autoRead, value: false)
          .connect(host: "127.0.0.1", port: targetPort)
          .flatMapThrowing { server in
            try client.pipeline.syncOperations.addHandler(Forwarder(to: server))
            try server.pipeline.syncOperations.addHandler(Forwarder(to: client))
            accept.yield(client)
            accept.yield(server)
          }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = listener.localAddress?.port ?? 0
    channels = Mutex([])
    Task { [weak self] in
      for await channel in accepted {
        guard let self else { return }
        channels.withLock { $0.append(channel) }
        try? await channel.setOption(.autoRead, value: true).get()
      }
    }
  }

  /// Lets nothing pass on the connections that are open now. New ones work.
  func freeze() async throws {
    for channel in channels.withLock({ $0 }) {
      try await channel.setOption(.autoRead, value: false).get()
    }
  }

  /// Ends all connections, and listens no more.
  func close() async throws {
    for channel in channels.withLock({ $0 }) { channel.close(promise: nil) }
    try await listener.close()
  }

  private final class Forwarder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let peer: any Channel

    init(to peer: any Channel) { self.peer = peer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      peer.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { peer.close(promise: nil) }
  }
}
