// Visibility of the public functions; everything else in the libraries is hidden.
#pragma once

#define SACCADE_EXPORT [[gnu::visibility("default")]]
