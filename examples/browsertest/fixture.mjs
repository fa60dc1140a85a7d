// What every browser test uses: a page that fails its test when something goes
// wrong unseen, an accessibility check, and screenshots in screens/.
import { expect, test as base } from '@playwright/test'
import axe from 'axe-core'

export { expect }
export { site } from './sites.mjs'

/** What went wrong on a page, and what of it a test expects. */
export class Problems {
  /** @type {string[]} */ seen = []
  /** @type {RegExp[]} */ #allowed = []

  /** Lets problems pass whose text matches. @param {RegExp} pattern */
  allow(pattern) {
    this.#allowed.push(pattern)
  }

  /** The problems that were not allowed. */
  left() {
    return this.seen.filter(text => !this.#allowed.some(pattern => pattern.test(text)))
  }
}

/**
 * Notes what goes wrong on a page: violations of its content security policy,
 * console errors, uncaught errors, and requests that leave this machine.
 * @param {import('@playwright/test').Page} page
 * @param {Problems} problems
 */
export async function watch(page, problems) {
  page.on('console', m => void (m.type() === 'error' && problems.seen.push(`console: ${m.text()} ${m.location().url}`)))
  page.on('pageerror', error => void problems.seen.push(`uncaught: ${error.stack ?? error}`))
  page.on('request', r => {
    const url = new URL(r.url())
    if (url.protocol.startsWith('http') && url.hostname !== '127.0.0.1') problems.seen.push(`outside: ${r.url()}`)
  })
  await page.exposeFunction('__violated', (/** @type {string} */ text) => void problems.seen.push(`policy: ${text}`))
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', e => {
      // @ts-expect-error the function above
      window.__violated(`${e.effectiveDirective} blocked ${e.blockedURI} at ${e.sourceFile}:${e.lineNumber}`)
    })
  })
}

export const test = base.extend(/** @type {import('@playwright/test').Fixtures<{problems: Problems}, {}, import('@playwright/test').PlaywrightTestArgs>} */ ({
  // eslint-disable-next-line no-empty-pattern
  problems: async ({}, use) => {
    await use(new Problems())
  },
  page: async ({ page, problems }, use) => {
    await watch(page, problems)
    await use(page)
    expect(problems.left(), 'what went wrong on the page').toEqual([])
  },
}))

/**
 * Fails when axe finds something serious or critical.
 * @param {import('@playwright/test').Page} page
 * @param {string} [selector] part of the page; default all of it
 */
export async function audit(page, selector = 'html') {
  await page.evaluate(axe.source)
  const found = await page.evaluate(async part => {
    const result = await /** @type {any} */ (window).axe.run(part, { resultTypes: ['violations'] })
    return result.violations.filter((/** @type {any} */ v) => ['serious', 'critical'].includes(v.impact))
      .map((/** @type {any} */ v) => `${v.id}: ${v.help}: ${v.nodes.map((/** @type {any} */ n) => n.html + ' ' + n.failureSummary).join(' | ')}`)
  }, selector)
  expect(found, 'serious accessibility findings').toEqual([])
}

/**
 * Looks at a page in light and dark: audits it and keeps a picture of each as
 * screens/<name>-<scheme>.png.
 * @param {import('@playwright/test').Page} page
 * @param {string} name
 * @param {{ schemes?: ('light' | 'dark')[], selector?: string, fullPage?: boolean }} [options]
 */
export async function look(page, name, { schemes = ['light', 'dark'], selector, fullPage = false } = {}) {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme })
    await audit(page, selector)
    await page.screenshot({ path: `screens/${name}-${colorScheme}.png`, fullPage })
  }
}
