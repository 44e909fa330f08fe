"""Headless Chromium for tests of pages, driven by selenium. Pictures of what it shows are left in build/screenshots."""

import shutil
from pathlib import Path

import pytest
from selenium import webdriver

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
if BROWSER is None or DRIVER is None:
    pytest.skip("needs Debian's chromium and chromium-driver: make test-browser", allow_module_level=True)
# What a browser does by itself is left out; the driver gives each one an empty profile.
QUIET = [
    "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
SHOTS = Path(__file__).parents[1] / "build" / "screenshots"


def open_browser(width, height, *, dark=False):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}"]
    for flag in [*flags, *QUIET, "--disable-dev-shm-usage", "--force-device-scale-factor=1"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    if dark:
        features = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    return driver


def errors_of(driver):
    return [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def shot(driver, name, width=None, scale=1):
    """The whole page; its height depends on the window's, so it is asked for twice."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    width = width or driver.execute_script("return innerWidth")
    height = 1000
    for _ in range(3):
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600,
        })  # fmt: skip
        height = driver.execute_script("return document.documentElement.scrollHeight")
    driver.save_screenshot(str(SHOTS / f"{name}.png"))
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
