// swift-tools-version: 6.2
// The manifest is the map: targets stand from cellar to roof, and a room may import only what stands in its list.
import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

func room(_ name: String, imports: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: imports, swiftSettings: strict)
}

func tests(of name: String, imports: [Target.Dependency]) -> Target {
  .testTarget(name: "\(name)Tests", dependencies: imports + ["Support"], swiftSettings: strict)
}

let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let certificates: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let collections: Target.Dependency = .product(name: "Collections", package: "swift-collections")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let httpClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let jwt: Target.Dependency = .product(name: "JWTKit", package: "jwt-kit")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let metricsTestKit: Target.Dependency = .product(name: "MetricsTestKit", package: "swift-metrics")
let mustache: Target.Dependency = .product(name: "Mustache", package: "swift-mustache")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTPTypesHTTP1: Target.Dependency = .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioWebSocket: Target.Dependency = .product(name: "NIOWebSocket", package: "swift-nio")
let nioTLS: [Target.Dependency] = [
  nioCore,
  nioPosix,
  nioSSL,
  .product(name: "NIOTLS", package: "swift-nio"),
]
let nio: [Target.Dependency] =
  nioTLS + [
    nioHTTP1,
    .product(name: "NIOHTTP2", package: "swift-nio-http2"),
    .product(name: "NIOHPACK", package: "swift-nio-http2"),
  ]

let package = Package(
  name: "pushcart",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "pushcart", targets: ["Pushcart"]),
    .library(name: "Postgres", targets: ["Postgres"]),
    .library(name: "PushcartClient", targets: ["PushcartClient"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
    .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
  ],
  targets: [
    // cellar
    .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .systemLibrary(
      name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"]), .brew(["libnghttp2"])]),

    .systemLibrary(
      name: "CMaxMindDB", pkgConfig: "libmaxminddb",
      providers: [.apt(["libmaxminddb-dev"]), .brew(["libmaxminddb"])]),

    .systemLibrary(
      name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"]), .brew(["libxml2"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),

    // ground
    room("Wire", imports: []),
    room("Locking", imports: []),
    room("Retrying", imports: []),
    room("XML", imports: ["CLibXML2", "Wire"]),
    // sql and Templates inside it are links: SwiftPM asks the plugin anew only when something below a target changes
    .target(
      name: "Embedded", dependencies: ["Wire", mustache], exclude: ["sql", "Templates"], swiftSettings: strict,
      plugins: ["EmbedPlugin"]),
    room("Postgres", imports: ["Locking", "Retrying", "CLibpq", collections, lifecycle, logging, metrics]),

    // 1st floor
    room(
      "Registry",
      imports: [
        "Postgres", "Wire", "Locking", asn1, certificates, collections, crypto, cryptoExtras, jwt, lifecycle, logging,
        metrics, nioSSL,
      ]),
    room("Content", imports: ["Postgres", "Wire", "Locking", crypto]),
    room(
      "Providers",
      imports: [
        "CNghttp2", "Wire", "Locking", "Retrying", "XML", collections, crypto, cryptoExtras, lifecycle, logging,
        metrics, nioHTTP1,
      ]
        + nioTLS),

    // 2nd floor
    room(
      "Delivery",
      imports: [
        "Registry", "Providers", "Content", "Postgres", "Wire", "Locking", "Retrying", collections, lifecycle, logging,
        metrics,
      ]),
    room(
      "Outbox",
      imports: ["Registry", "Providers", "Postgres", "Wire", "Locking", "Retrying", crypto, lifecycle, logging]),

    // 3rd floor
    room("Audience", imports: ["Registry", "Delivery", "Postgres", "Wire", "Locking", "Retrying"]),

    // 4th floor
    room(
      "Sendouts",
      imports: [
        "Registry", "Content", "Delivery", "Outbox", "Audience", "Postgres", "Wire", "Locking", "Retrying", crypto,
        logging, lifecycle,
      ]),

    // 5th floor
    room(
      "Subscriptions",
      imports: [
        "Registry", "Delivery", "Outbox", "Postgres", "Wire", "Locking", "Retrying", crypto, lifecycle, logging,
      ]),
    room(
      "Hybrid",
      imports: [
        "Registry", "Content", "Delivery", "Outbox", "Providers", "Sendouts", "Postgres", "Wire", "Locking", "Retrying",
        crypto, lifecycle, logging, metrics,
      ]),
    room(
      "DataInOut",
      imports: [
        "CZlib", "Registry", "Outbox", "Audience", "Postgres", "Wire", "Locking", "Retrying", lifecycle, logging,
      ]),

    // 6th floor
    room(
      "Operations",
      imports: [
        "Registry", "Content", "Delivery", "Outbox", "Audience", "Sendouts", "Hybrid", "Subscriptions", "DataInOut",
        "Wire", "Retrying", httpTypes,
      ]),

    // 7th floor
    room(
      "Web",
      imports: [
        "CMaxMindDB", "Embedded", "Registry", "Content", "Delivery", "Sendouts", "Hybrid", "Subscriptions", "DataInOut",
        "Operations", "Wire", "Locking", "XML", collections, crypto, httpTypes, hummingbird, lifecycle, logging,
        metrics, nioCore, nioHTTP1, nioHTTPTypesHTTP1, nioPosix,
      ]),
    room(
      "Simulator",
      imports: [
        "Embedded", "Wire", "Locking", "XML", asn1, certificates, collections, crypto, cryptoExtras, httpTypes,
        hummingbird, lifecycle, logging, nioWebSocket,
      ]
        + nio),

    // for apps and their back ends
    room("PushcartClient", imports: ["Wire", crypto]),

    // roof
    .executableTarget(
      name: "Pushcart",
      dependencies: [
        "Postgres", "Wire", "Locking", "Embedded", "Registry", "Content", "Providers", "Delivery", "Audience", "Outbox",
        "Sendouts", "Hybrid", "Subscriptions", "DataInOut", "Operations", "Web", "Simulator", arguments, configuration,
        crypto, lifecycle,
        logging, metrics,
      ],
      swiftSettings: strict
    ),

    // the workshop: writes sql/, Templates/ and names of crawlers into Embedded at every build
    .plugin(name: "EmbedPlugin", capability: .buildTool(), dependencies: ["EmbedTool"], path: "Sources/EmbedPlugin"),
    .executableTarget(name: "EmbedTool", swiftSettings: strict),

    // tests, a folder a room
    .target(
      name: "Support",
      dependencies: [
        "Postgres", "Wire", "Locking", "Retrying", "Registry", "Content", "Providers", "Delivery", "Audience",
        "Sendouts",
        "Hybrid", "Subscriptions", "DataInOut", "Operations", "Web", "Simulator", crypto, httpClient, httpTypes,
        hummingbird, lifecycle, logging,
      ] + nio,
      path: "Tests/Support",
      swiftSettings: strict
    ),
    .target(
      name: "FuzzProperties", dependencies: ["Wire", "XML"], path: "Tests/Fuzz/Properties", swiftSettings: strict),
    tests(of: "Wire", imports: ["Wire", "FuzzProperties"]),
    tests(of: "XML", imports: ["XML", "Wire"]),
    tests(of: "Retrying", imports: ["Retrying"]),
    tests(of: "Postgres", imports: ["Locking", "Postgres", "CLibpq", logging, lifecycle, metricsTestKit]),
    tests(of: "Registry", imports: ["Registry", "Postgres", "Wire", "Locking", certificates, crypto, cryptoExtras]),
    tests(of: "Content", imports: ["Content", "Embedded", "Postgres", "Wire", "Locking", mustache]),
    tests(
      of: "Providers",
      imports: [
        "Providers", "Simulator", "Wire", "Locking", "Retrying", crypto, cryptoExtras, jwt, logging, nioEmbedded,
      ] + nio),
    tests(
      of: "Delivery",
      imports: [
        "Delivery", "Sendouts", "Registry", "Content", "Providers", "Simulator", "Postgres", "Wire", "Locking",
        "Retrying", logging,
      ]),
    tests(
      of: "Outbox",
      imports: [
        "Outbox", "Registry", "Providers", "Postgres", "Wire", "Locking", "Retrying", crypto, lifecycle,
      ]),
    tests(
      of: "Audience", imports: ["Audience", "Delivery", "Registry", "Postgres", "Wire", "Locking"]),
    tests(
      of: "Sendouts",
      imports: [
        "Sendouts", "Audience", "Delivery", "Outbox", "Registry", "Content", "Providers", "Simulator", "Postgres",
        "Wire", "Locking", lifecycle, logging,
      ]),
    tests(
      of: "Hybrid",
      imports: [
        "Hybrid", "Sendouts", "Delivery", "Outbox", "Registry", "Content", "Providers", "Simulator", "Postgres", "Wire",
        "Locking", "Retrying", crypto, lifecycle, logging,
      ]),
    tests(
      of: "PushcartClient",
      imports: ["PushcartClient", "Subscriptions", "Delivery", "Registry", "Simulator", "Wire", crypto]),
    tests(
      of: "Subscriptions",
      imports: [
        "PushcartClient", "Subscriptions", "Delivery", "Registry", "Providers", "Simulator", "Postgres", "Wire",
        "Locking", crypto,
      ] + nio),
    tests(
      of: "DataInOut",
      imports: ["DataInOut", "Audience", "Registry", "Postgres", "Wire", "Locking", "Retrying", logging]),
    tests(
      of: "Web",
      imports: [
        "Web", "Operations", "Embedded", "Hybrid", "Subscriptions", "DataInOut", "Sendouts", "Delivery", "Registry",
        "Content", "Providers", "Simulator", "Postgres", "Wire", "Locking", "Retrying", crypto, httpClient, httpTypes,
        hummingbird, logging, nioCore,
      ]),
    tests(
      of: "Simulator",
      imports: ["Simulator", "Wire", "Locking", crypto, cryptoExtras, httpClient, logging, nioWebSocket] + nio),
    tests(
      of: "Pushcart",
      imports: [
        "Pushcart", "Postgres", "Wire", "Locking", "Registry", "Content", "Providers", "Delivery", "Outbox", "Sendouts",
        "Hybrid", "Subscriptions", "DataInOut", "Operations", "Web", "Simulator", arguments, httpClient, httpTypes,
        lifecycle, logging, metrics,
      ]),
    .executableTarget(
      name: "EncryptionRate", dependencies: ["Providers", "Wire", "Locking", crypto],
      path: "Tests/Bench/EncryptionRate",
      swiftSettings: strict),
    tests(
      of: "House",
      imports: [
        "Postgres", "Registry", "Content", "Delivery", "Audience", "Outbox", "Sendouts", "Hybrid", "Subscriptions",
        "DataInOut", "Operations", "Pushcart",
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// `make fuzz` links it with libFuzzer, which has the `main`.
if Context.environment["FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "Fuzz", dependencies: ["FuzzProperties"], path: "Tests/Fuzz/Driver",
      swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]))
}
