/**
 * A real PostgreSQL and a real MariaDB from Debian's packages, each a new cluster in a temporary
 * folder on a free loopback port. Start one per test file: `const server = await testPostgres()`,
 * `describe.skipIf(server === null)`, `afterAll(() => server?.stop())`. They end with the process
 * that started them, even if it crashes.
 */
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import mysql from 'mysql2/promise'
import pg from 'pg'

export interface TestServer {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  /** The parameters of a data source that connects to it. */
  readonly parameters: Readonly<Record<string, string | number>>
  /** Returns the rows of a statement, run as the owner of everything. */
  run(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Kills the server, as a crash would, and restarts it on the same port. */
  restart(): Promise<void>
  /** The first half of that, and the second. */
  down(): Promise<void>
  up(): Promise<void>
  stop(): Promise<void>
}

const USER = 'eider'
const PASSWORD = "s3cr3t'pass"
const DATABASE = 'shop'
const HOST = '127.0.0.1'
const START_MS = 60_000
const RESTART_PAUSE_MS = 2000
const ROOT = 0

/**
 * Lines for its configuration, and files that they name. The files are put next to the server's
 * data.
 */
export interface ServerOptions {
  readonly settings?: readonly string[]
  readonly files?: Readonly<Record<string, string>>
  /** The folder with PostgreSQL's programs, by default Debian's. */
  readonly binaries?: string
  /** Makes this server a standby of another one, until it is promoted. */
  readonly standbyOf?: TestServer
}

/** Returns null if PostgreSQL is not installed. The tests then log this. */
export async function testPostgres(options: ServerOptions = {}): Promise<TestServer | null> {
  const binaries = options.binaries ?? postgresBinaries()
  if (binaries === null) return skipped('PostgreSQL is not installed (Debian: postgresql)')
  const user = serverUser('postgres')
  if (user === null)
    return skipped('PostgreSQL does not run as root, and there is no user postgres')
  const folder = ownFolder('postgres', user)
  const passwordFile = join(folder, 'password')
  writeOwn(passwordFile, PASSWORD, user)
  const data = join(folder, 'data')
  const { standbyOf } = options
  const initdb = [join(binaries, 'initdb'), '-D', data, '-U', USER, '--pwfile', passwordFile]
  const fresh = [...initdb, '-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']
  const copied = [join(binaries, 'pg_basebackup'), '-D', data, '-R', '-c', 'fast', '--no-sync']
  const login = `user=${USER} password='${PASSWORD.replaceAll("'", "\\'")}'`
  const of = ['-d', `host=${HOST} port=${standbyOf?.port} ${login}`]
  runOnce(standbyOf === undefined ? fresh : [...copied, ...of], user)
  for (const [name, text] of Object.entries(options.files ?? {})) {
    writeOwn(join(data, name), text, user)
  }
  const port = await freePort()
  const settings = [
    `port=${port}`,
    `listen_addresses=${HOST}`,
    'unix_socket_directories=',
    'fsync=off',
    'full_page_writes=off',
    'shared_buffers=32MB',
    ...(options.settings ?? []),
  ]
  const command = [
    join(binaries, 'postgres'),
    '-D',
    data,
    ...settings.flatMap((one) => ['-c', one]),
  ]
  const connection = { host: HOST, port, user: USER, password: PASSWORD }
  const withClient = async <T>(database: string, use: (client: pg.Client) => Promise<T>) => {
    const client = new pg.Client({ ...connection, database })
    client.on('error', () => {})
    await client.connect()
    try {
      return await use(client)
    } finally {
      await client.end()
    }
  }
  const ready = () => withClient('postgres', (client) => client.query('SELECT 1'))
  const server = await started({ command, user, folder, ready })
  if (standbyOf === undefined) {
    await withClient('postgres', (client) => client.query(`CREATE DATABASE ${DATABASE}`))
  }
  const run = async (sql: string) => {
    return withClient(DATABASE, async (client) => (await client.query(sql)).rows ?? [])
  }
  return { ...described(port), ...server, run }
}

/** Returns null if MariaDB is not installed. The tests then log this. */
export async function testMariadb(options: ServerOptions = {}): Promise<TestServer | null> {
  const binary = ['/usr/sbin/mariadbd', '/usr/bin/mariadbd'].find(existsSync)
  if (binary === undefined || !existsSync('/usr/bin/mariadb-install-db')) {
    return skipped('MariaDB is not installed (Debian: mariadb-server)')
  }
  const user = serverUser('mysql')
  if (user === null) return skipped('MariaDB does not run as root, and there is no user mysql')
  const folder = ownFolder('mariadb', user)
  const data = join(folder, 'data')
  const install = ['/usr/bin/mariadb-install-db', '--no-defaults', `--datadir=${data}`]
  runOnce([...install, '--skip-test-db', '--auth-root-authentication-method=normal'], user)
  for (const [name, text] of Object.entries(options.files ?? {})) {
    writeOwn(join(data, name), text, user)
  }
  const initFile = join(folder, 'init.sql')
  const password = PASSWORD.replaceAll("'", "''")
  const statements = [
    `CREATE DATABASE IF NOT EXISTS ${DATABASE} CHARACTER SET utf8mb4;`,
    `CREATE USER IF NOT EXISTS '${USER}'@'%' IDENTIFIED BY '${password}';`,
    `GRANT ALL ON *.* TO '${USER}'@'%' WITH GRANT OPTION;`,
  ]
  writeOwn(initFile, statements.join('\n'), user)
  const port = await freePort()
  const command = [
    binary,
    '--no-defaults',
    `--datadir=${data}`,
    `--socket=${join(folder, 'socket')}`,
    `--pid-file=${join(folder, 'pid')}`,
    `--port=${port}`,
    `--bind-address=${HOST}`,
    `--init-file=${initFile}`,
    '--skip-name-resolve',
    '--innodb-flush-log-at-trx-commit=0',
    '--innodb-buffer-pool-size=64M',
    '--skip-log-bin',
    ...(options.settings ?? []).map((one) => `--${one.replaceAll('$DATA', data)}`),
  ]
  const run = async (sql: string) => {
    const connection = await mysql.createConnection({ ...loginOf(port), multipleStatements: true })
    try {
      const [rows] = await connection.query(sql)
      // Returns the rows of a SELECT, or the server's answer to another statement.
      return (Array.isArray(rows) ? rows : [rows]) as Readonly<Record<string, unknown>>[]
    } finally {
      await connection.end()
    }
  }
  const server = await started({ command, user, folder, ready: () => run('SELECT 1') })
  return { ...described(port), ...server, run }
}

function loginOf(port: number) {
  return { host: HOST, port, user: USER, password: PASSWORD, database: DATABASE }
}

function described(port: number) {
  const login = loginOf(port)
  return { ...login, parameters: login }
}

export function skipped(why: string): null {
  process.stderr.write(`skipped: ${why}\n`)
  return null
}

function postgresBinaries(): string | null {
  const root = '/usr/lib/postgresql'
  if (!existsSync(root)) return null
  const versions = readdirSync(root).sort((a, b) => Number(b) - Number(a))
  const folders = versions.map((version) => join(root, version, 'bin'))
  return folders.find((folder) => existsSync(join(folder, 'initdb'))) ?? null
}

interface SystemUser {
  /** The command prefix for the system user, or empty for the current user. */
  readonly prefix: readonly string[]
  readonly uid: number
  readonly gid: number
}

/** Returns null if it runs as root and that user is missing. */
function serverUser(name: string): SystemUser | null {
  const own = userInfo()
  if (own.uid !== ROOT)
    return { prefix: ['setpriv', '--pdeathsig=KILL'], uid: own.uid, gid: own.gid }
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`))
  if (line === undefined) return null
  const [, , uid, gid] = line.split(':').map(Number)
  if (uid === undefined || gid === undefined) return null
  const login = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  return { prefix: ['setpriv', ...login, '--pdeathsig=KILL'], uid, gid }
}

function ownFolder(name: string, { uid, gid }: SystemUser): string {
  const folder = mkdtempSync(join(tmpdir(), `eider-${name}-`))
  chownSync(folder, uid, gid)
  return folder
}

function writeOwn(path: string, text: string, { uid, gid }: SystemUser): void {
  writeFileSync(path, text, { mode: 0o600 })
  chownSync(path, uid, gid)
}

function runOnce(command: readonly string[], user: SystemUser): void {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...user.prefix, ...command], { cwd: '/' })
  if (exitCode !== 0) throw new Error(`${command[0]} failed: ${stdout}\n${stderr}`)
}

interface Startable {
  readonly command: readonly string[]
  readonly user: SystemUser
  readonly folder: string
  readonly ready: () => Promise<unknown>
}

async function started({ command, user, folder, ready }: Startable) {
  const log = join(folder, 'log')
  const start = async () => {
    const child = Bun.spawn([...user.prefix, ...command], {
      cwd: '/',
      stdio: ['ignore', Bun.file(log), Bun.file(log)],
    })
    child.unref()
    const until = Date.now() + START_MS
    for (;;) {
      try {
        await ready()
        return child
      } catch (error) {
        const isOver = child.exitCode !== null || Date.now() > until
        if (isOver) throw new Error(`no server: ${error}\n${readFileSync(log, 'utf8')}`)
        await Bun.sleep(50)
      }
    }
  }
  let child = await start()
  const kill = async () => {
    child.kill('SIGKILL')
    await child.exited
  }
  const up = async () => {
    // The processes of the killed server may keep its memory for a moment longer.
    child = await start().catch(async () => {
      await Bun.sleep(RESTART_PAUSE_MS)
      return start()
    })
  }
  return {
    down: kill,
    up,
    async restart() {
      await kill()
      await up()
    },
    async stop() {
      // PostgreSQL's other processes end once they notice that the first one is gone.
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const server = createServer()
  server.listen(0, HOST, () => {
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    server.close(() => resolve(port))
  })
  return promise
}
