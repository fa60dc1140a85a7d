// Starts the servers of program_test.go for the whole run. They end when their standard
// input does, and so never outlive it.
import { execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Builds and starts the servers. @returns {Promise<() => Promise<void>>} what ends them */
export default async function start() {
  execFileSync('go', ['build', '-o', '.bin/', '../demo'], { cwd: here, stdio: 'inherit' })
  execFileSync('go', ['test', '-c', '-o', '.bin/browsertest', '.'], { cwd: here, stdio: 'inherit' })
  process.env.BROWSERTEST_MAIN = 'yes'
  const servers = spawn(here + '.bin/browsertest', ['-demo', here + '.bin/demo', '-dashboard', '-cards', '-modules', here + 'node_modules'], { cwd: here, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise(resolve => servers.once('exit', resolve))
  process.env.SITES = await new Promise((resolve, reject) => {
    createInterface({ input: servers.stdout }).once('line', resolve)
    servers.once('exit', code => reject(new Error(`the servers did not start (exit code ${code})`)))
  })
  return async () => {
    servers.stdin.end()
    await ended
  }
}

/**
 * The address of a page or a server; that of a page ends with a slash.
 * @param {string} name as in program_test.go
 */
export function site(name) {
  const address = JSON.parse(process.env.SITES ?? '{}')[name]
  if (!address) throw new Error(`there is no site ${name}: program_test.go starts them`)
  return address
}
