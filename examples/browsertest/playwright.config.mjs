import { defineConfig } from '@playwright/test'
import { chromium } from './chromium.mjs'

// One page at a time: WebGL is drawn by the processor here.
export default defineConfig({
  testDir: 'tests',
  globalSetup: './sites.mjs',
  outputDir: 'results',
  workers: Number(process.env.WORKERS ?? 1),
  forbidOnly: true,
  timeout: 180_000, // for machines that are busy with other things
  expect: { timeout: 30_000 },
  reporter: [['list']],
  use: {
    browserName: 'chromium',
    viewport: { width: 640, height: 480 },
    colorScheme: 'light',
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: chromium(),
      chromiumSandbox: false, // root and most containers cannot have it; the pages are our own
      args: ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-background-networking', '--disable-component-update'],
    },
  },
})
