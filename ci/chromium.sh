# Sets PX_TEST_CHROMIUM to the browser of the tests; empty if there is none. Sourced by the scripts that need one.

find_chromium() {
    local command
    for command in chromium chromium-browser google-chrome; do
        if command -v "$command"; then return; fi
    done
}

export PX_TEST_CHROMIUM=${PX_TEST_CHROMIUM:-$(find_chromium)}
