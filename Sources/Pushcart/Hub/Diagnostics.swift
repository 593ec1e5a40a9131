import Crypto
import Logging
import Postgres
import Providers
import Registry
import Wire

/// Checks everything that a hub with these settings needs, and changes nothing.
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
          found.yield(await user(pool))
          found.yield(await masterKey(pool))
          found.yield(await deviceKeys(pool))
          found.yield(await reports(pool))
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
      let all = try await Rekey(pool, vault: Vault(keys), by: ManagementStores.osUser).run(trial: true)
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

  /// Checks that APNs answers. It is asked about a key that it cannot know, and a refusal is an answer.
  private func providers(_ report: (Finding) -> Void) async {
    let stranger = PushServiceCredentials.apns(
      teamID: "PUSHCART00", keyID: "PUSHCART00", signingKey: P256.Signing.PrivateKey().pemRepresentation)
    do {
      let services = try PushServices(settings.pushServices, logger: Logger(label: "push services"))
      let account = services.account(appID: "pushcart", of: CustomerID(0), credentials: stranger)
      for (environment, url, variable) in [
        (PushEnvironment.production, settings.pushServices.apns.productionURL, Setting.apnsProductionURL.variable),
        (.sandbox, settings.pushServices.apns.sandboxURL, Setting.apnsSandboxURL.variable),
      ] {
        let answer = await account.check(environment)
        if case .unreachable(let reason) = answer {
          let sentence = "\(url) cannot be reached (\(reason)); see \(variable) and \(Setting.providerCAFile.variable)"
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
