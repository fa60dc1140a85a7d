import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/**
 * The system's Chromium: what CHROMIUM names, or the first of the usual names on the path.
 * @returns {string} its path
 */
export function chromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM
  for (const name of names) {
    for (const dir of (process.env.PATH ?? '').split(delimiter)) {
      const path = join(dir, name)
      try {
        accessSync(path, constants.X_OK)
        return path
      } catch {
        // not here
      }
    }
  }
  throw new Error('Chromium is missing: apt-get install chromium, or set CHROMIUM to the path of one')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    chromium()
  } catch {
    process.exitCode = 1
  }
}
