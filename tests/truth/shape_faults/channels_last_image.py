# https://taourl.com/read-2613958.html
import numpy as np
import torch
import torch.nn as nn

image = np.random.randint(0, 255, (224, 224, 3), dtype=np.uint8)
tensor = torch.from_numpy(image).float().unsqueeze(0)  # repaired: tensor = torch.from_numpy(image).permute(2, 0, 1).float().unsqueeze(0)
features = nn.Sequential(nn.Conv2d(3, 64, kernel_size=3, stride=1, padding=1), nn.ReLU(), nn.MaxPool2d(2))  # here
output = features(tensor)  # dies
print(output.shape)
