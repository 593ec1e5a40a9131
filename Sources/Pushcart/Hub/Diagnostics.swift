import Crypto
import Delivery
import FoundationEssentials
import Logging
import Postgres
import Providers
import Registry
import Wire

/// Checks everything that a hub with these settings needs, and changes nothing but the provider tokens that hubs share.
struct Diagnostics: Sendable {
  struct Finding: Sendable {
    var part: String
    var isWell: Bool
    /// The result, or what to do.
    var sentence: String
  }

  private let settings: Settings

  init(_ settings: Settings) { self.settings = settings }

  /// The findings, each as soon as it is known.
  func findings() -> AsyncStream<Finding> {
    AsyncStream { found in
      let task = Task {
        let warnings = settings.warnings.map { "; \($0)" }.joined()
        found.yield(Finding(part: "settings", isWell: true, sentence: "complete" + warnings))
        found.yield(publicURL())
        try? await settings.withPool { pool in
          let server = await database(pool)
          found.yield(server)
          guard server.isWell else { return }
          let schema = await migrations(pool)
          found.yield(schema)
          guard schema.isWell else { return }
          found.yield(await durability(pool))
          found.yield(await user(pool))
          found.yield(await masterKey(pool))
          found.yield(await deviceKeys(pool))
          found.yield(await reports(pool))
          await pushApps(pool) { found.yield($0) }
        }
        await providers { found.yield($0) }
        found.finish()
      }
      found.onTermination = { _ in task.cancel() }
    }
  }

  private func publicURL() -> Finding {
    let isSecure = settings.publicURL.hasPrefix("https://")
    return Finding(
      part: "public URL", isWell: true,
      sentence: settings.publicURL
        + (isSecure ? "" : "; phones need https, so set \(Setting.publicURL.variable) before real pushes are sent"))
  }

  private func database(_ pool: Pool) async -> Finding {
    do {
      let row = try await pool.query(HubQueries.server).first
      let (number, text, isRemote) = try row?.decode(Int32.self, String.self, Bool.self) ?? (Int32(0), "", false)
      let isNew = number >= 140_000
      let isVerified = settings.database.value(of: "sslmode") == "verify-full"
      return Finding(
        part: "database", isWell: isNew,
        sentence: "PostgreSQL \(text)" + (isNew ? "" : "; Pushcart needs 14 or later")
          + (isRemote && !isVerified ? "; its address should say sslmode=verify-full" : ""))
    } catch {
      return Finding(part: "database", isWell: false, sentence: "\(error); see \(Setting.databaseURL.variable)")
    }
  }

  /// Whether what the hub acknowledges is kept when the server stops, or a standby takes its place. A hub works without.
  private func durability(_ pool: Pool) async -> Finding {
    do {
      let (isFlushed, commit, names, standbys) = try await pool.query(HubQueries.replication)[0].decode(
        Bool.self, String.self, String.self, Int.self)
      return Finding(
        part: "durability", isWell: true,
        sentence: Self.durability(isFlushed: isFlushed, commit: commit, names: names, standbys: standbys))
    } catch {
      return Finding(part: "durability", isWell: false, sentence: "\(error)")
    }
  }

  /// - Parameters:
  ///   - isFlushed: `fsync`.
  ///   - commit: `synchronous_commit`.
  ///   - names: `synchronous_standby_names`.
  ///   - standbys: how many are connected.
  static func durability(isFlushed: Bool, commit: String, names: String, standbys: Int) -> String {
    let count = standbys == 1 ? "one standby is" : "\(standbys) standbys are"
    return switch commit {
    case _ where !isFlushed: "fsync is off: the whole database can be lost when its machine stops. Set fsync = on"
    case "off":
      "synchronous_commit is off: what was acknowledged can be lost when the server stops. Set synchronous_commit = on"
    case "local" where standbys > 0 || !names.isEmpty:
      "synchronous_commit is local: what was acknowledged can be lost in a failover. Set synchronous_commit = on"
    default:
      if standbys > 0, names.isEmpty {
        "\(count) connected, and commits do not wait for any: what was acknowledged can be lost in a failover. "
          + "Set synchronous_standby_names, as in 'ANY 1 (*)'"
      } else if names.isEmpty {
        "commits are on disk when they are acknowledged; no standby is connected"
      } else {
        "commits are acknowledged once the standbys of synchronous_standby_names have them; \(count) connected"
      }
    }
  }

  private func migrations(_ pool: Pool) async -> Finding {
    do {
      let pending = try await Migrator(pool, Migration.embedded).pending()
      let sentence =
        pending.isEmpty
        ? "all \(Migration.embedded.count) applied" : "\(pending.count) pending; run `pushcart migrate`"
      return Finding(part: "migrations", isWell: pending.isEmpty, sentence: sentence)
    } catch {
      return Finding(part: "migrations", isWell: false, sentence: "\(error)")
    }
  }

  private func masterKey(_ pool: Pool) async -> Finding {
    guard let keys = settings.masterKeys else { return Finding(part: "master key", isWell: false, sentence: "not set") }
    do {
      let all = try await Rekey(pool, vault: Vault(keys), by: ManagementStores.osUser, columns: SealedColumn.all)
        .run(trial: true)
      if !all.unreadable.isEmpty {
        return Finding(
          part: "master key", isWell: false,
          sentence: "does not open \(all.unreadable.joined(separator: ", ")); put the key they were sealed under into "
            + "\(Setting.oldMasterKeys.variable), or store them again")
      }
      return Finding(
        part: "master key", isWell: true,
        sentence: "opens all \(all.current + all.resealed) sealed values"
          + (all.resealed == 0 ? "" : "; \(all.resealed) are under an older key: run `pushcart rekey`"))
    } catch {
      return Finding(part: "master key", isWell: false, sentence: "\(CommandFailure.wrapping(error))")
    }
  }

  /// A hub needs less than the schema's owner has, and an attacker who takes it over gets no more than its user.
  private func user(_ pool: Pool) async -> Finding {
    do {
      guard let row = try await pool.query(HubQueries.user).first else {
        return Finding(part: "database user", isWell: false, sentence: "the table schema_migration is missing")
      }
      let (user, isSuperuser, isOwner, closedTable) = try row.decode(
        String.self, Bool.self, Bool.self, String?.self)
      if let closedTable {
        return Finding(
          part: "database user", isWell: false,
          sentence: "\(user) cannot use the table \(closedTable). Its owner runs: GRANT pushcart_serve TO \"\(user)\";")
      }
      guard isSuperuser || isOwner else {
        return Finding(part: "database user", isWell: true, sentence: "\(user) can serve and cannot change the schema")
      }
      let remedy = try await DatabaseRole.serve.remedy(pool).map { ". First run: \($0)" } ?? ""
      return Finding(
        part: "database user", isWell: true,
        sentence: "\(user) \(isSuperuser ? "is a superuser" : "owns the schema"); "
          + "a hub is safer with a user that only has the role pushcart_serve" + remedy)
    } catch {
      return Finding(part: "database user", isWell: false, sentence: "\(error)")
    }
  }

  /// All apps of a customer share its contacts, so what one requires of device keys counts for all.
  private func deviceKeys(_ pool: Pool) async -> Finding {
    do {
      var notes: [String] = []
      for customer in try await Customers(pool).all() {
        let apps = try await PushApps(pool).list(customer.id)
        guard let app = apps.first(where: \.identityRequired) else { continue }
        notes += PushApp.identityWarnings(of: app.id, among: apps).map { "customer \(customer.id): \($0)" }
      }
      return Finding(
        part: "device keys", isWell: true,
        sentence: notes.isEmpty ? "no app's identity setting concerns others" : notes.joined(separator: " "))
    } catch {
      return Finding(part: "device keys", isWell: false, sentence: "\(error)")
    }
  }

  /// A hub works without this role.
  private func reports(_ pool: Pool) async -> Finding {
    do {
      let remedy = try await DatabaseRole.report.remedy(pool)
      let sentence = remedy.map { "the role pushcart_report cannot read them. An administrator runs: \($0)" }
      return Finding(part: "reports", isWell: true, sentence: sentence ?? "the role pushcart_report can read them")
    } catch {
      return Finding(part: "reports", isWell: false, sentence: "\(error)")
    }
  }

  /// Asks the push service of every app whether it accepts the app's credentials, as `pushcart app check` does. Nobody gets a message.
  private func pushApps(_ pool: Pool, _ report: (Finding) -> Void) async {
    guard let keys = settings.masterKeys else { return }
    do {
      let vault = Vault(keys)
      var settings = settings.pushServices
      // A person waits for the answer.
      settings.queueTimeout = .seconds(10)
      let check = CredentialCheck(
        PushCredentialVault(pool, vault: vault),
        services: try PushServices(
          settings, tokens: ProviderTokenVault(pool, vault: vault), logger: Logger(label: "push services")))
      var apps: [PushApp] = []
      for customer in try await Customers(pool).all() {
        apps += try await PushApps(pool, vault: vault).list(customer.id)
      }
      for app in apps {
        for certificate in app.certificates {
          guard let warning = certificate.expiryWarning(at: Date()) else { continue }
          report(
            Finding(
              part: "push app \(app.id)", isWell: !certificate.isExpired(at: Date()),
              sentence: "\(app.appID) of customer \(app.customer): \(warning)"))
        }
      }
      var accepted = 0, unasked = 0, bare = 0
      for start in stride(from: 0, to: apps.count, by: Self.appsAtOnce) {
        let some = apps[start..<min(start + Self.appsAtOnce, apps.count)]
        let answers = await withTaskGroup(of: (Int, [Finding]?).self) { group in
          for (index, app) in zip(some.indices, some) { group.addTask { (index, await problems(of: app, check)) } }
          return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        for (app, found) in zip(some, answers) {
          bare += found == nil ? 1 : 0
          if found?.isEmpty == true {
            // Push services of browsers cannot be asked.
            accepted += app.type == .web ? 0 : 1
            unasked += app.type == .web ? 1 : 0
          }
          for finding in found ?? [] { report(finding) }
        }
      }
      report(
        Finding(
          part: "push apps", isWell: true,
          sentence: "\(accepted) of \(apps.count) are accepted by their push services"
            + (unasked == 0 ? "" : "; \(unasked) are of the web, where only a push shows whether it is accepted")
            + (bare == 0 ? "" : "; \(bare) have no credentials yet")))
    } catch {
      report(Finding(part: "push apps", isWell: false, sentence: "\(CommandFailure.wrapping(error))"))
    }
  }

  /// Apps whose push services are asked at the same time.
  private static let appsAtOnce = 8

  /// What is wrong with an app's credentials: nothing, or what each environment of the service says if none accepts them.
  /// - Returns: `nil` if it has none.
  private func problems(of app: PushApp, _ check: CredentialCheck) async -> [Finding]? {
    let part = "push app \(app.id)"
    do {
      guard let checks = try await check.check(app)?.checks else { return nil }
      guard !checks.contains(where: { [.accepted, .unasked].contains($0.verdict) }) else { return [] }
      let reasons = checks.map { "\($0.environment.rawValue) \($0.verdict.rawValue) (\($0.reason ?? ""))" }
      return [
        Finding(
          part: part, isWell: false,
          sentence: "\(app.appID) of customer \(app.customer): \(reasons.joined(separator: ", ")); "
            + "see `pushcart app check \(app.id) --customer \(app.customer)`")
      ]
    } catch {
      return [
        Finding(
          part: part, isWell: false,
          sentence: "\(app.appID) of customer \(app.customer): \(CommandFailure.wrapping(error))")
      ]
    }
  }

  /// Checks that APNs answers. It is asked about a key that it cannot know, and a refusal is an answer.
  private func providers(_ report: (Finding) -> Void) async {
    let unknownKey = PushServiceCredentials.apns(
      teamID: "PUSHCART00", keyID: "PUSHCART00", signingKey: P256.Signing.PrivateKey().pemRepresentation)
    do {
      let services = try PushServices(settings.pushServices, logger: Logger(label: "push services"))
      let account = services.account(appID: "pushcart", of: CustomerID(0), credentials: unknownKey)
      for (environment, setting) in [
        (PushEnvironment.production, ServiceSetting.apnsProductionURL), (.sandbox, .apnsSandboxURL),
      ] {
        let url = settings.pushServices[setting] ?? ""
        let answer = await account.check(environment)
        if case .unreachable(let reason) = answer {
          let sentence =
            "\(url) cannot be reached (\(reason)); see \(setting.variable) and \(Setting.providerCAFile.variable)"
          report(Finding(part: "APNs \(environment)", isWell: false, sentence: sentence))
        } else {
          report(Finding(part: "APNs \(environment)", isWell: true, sentence: "\(url) answers"))
        }
      }
    } catch {
      report(Finding(part: "APNs", isWell: false, sentence: "\(CommandFailure.wrapping(error))"))
    }
  }
}
